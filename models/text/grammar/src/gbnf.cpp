// GBNF, the notation of llama.cpp's grammars:
// https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md

#include <algorithm>
#include <map>
#include <string>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/grammar/grammar.h"

#include "characters.h"
#include "compile_work.h"
#include "compiled_grammar.h"

namespace weft {
namespace {

using namespace grammar;

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 31;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const Grammar::GbnfOptions& options)
      : text_(text), options_(options) {}

  CompiledGrammar parse() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    space(true);
    while (at_ < text_.size()) rule();
    const auto root = rules_.find(options_.root);
    if (root == rules_.end())
      fail<FormatError>("grammar: the root rule '{}' is not defined", options_.root);
    for (const auto& [name, rule] : rules_) {
      if (!builder_.defined(rule.id))
        error(rule.first_use, fmt::format("rule '{}' is not defined", name));
    }
    return builder_.finish(root->second.id, true);
  }

 private:
  struct Rule {
    RuleId id;
    std::size_t first_use;
  };
  // An open group, or the rule itself: its alternatives are parallel paths through `all`.
  struct Group {
    Piece all;
    StateId at;  // the end of the alternative so far
    std::size_t begin;
  };

  struct Place {
    std::size_t at = 0, line = 1, column = 1;
  };

  // Continues from the last requested place, since every repetition asks for one.
  std::string position(std::size_t at) const {
    if (at < place_.at) place_ = {};
    for (; place_.at < std::min(at, text_.size()); ++place_.at) {
      const char c = text_[place_.at];
      if (c == '\n')
        ++place_.line, place_.column = 1;
      else if ((c & 0xC0) != 0x80)
        ++place_.column;
    }
    return fmt::format("{}:{}", place_.line, place_.column);
  }

  [[noreturn]] void error(std::size_t at, const std::string& what) const {
    fail<FormatError>("grammar {}: {}", position(at), what);
  }

  [[noreturn]] void expected(const char* what) const {
    if (at_ >= text_.size()) error(at_, fmt::format("expected {}, but the grammar ends", what));
    const Utf8Char c = decode_utf8(text_, at_);
    error(at_, fmt::format("expected {}, got '{}'", what,
                           c.code < 0x20 || !c.valid ? fmt::format("\\x{:02X}", text_[at_] & 0xFF)
                                                     : std::string(text_.substr(at_, c.length))));
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void space(bool newlines) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n' && text_[at_ + 1] != '\r') ++at_;
      } else if (c != ' ' && c != '\t' && !(newlines && (c == '\n' || c == '\r'))) {
        return;
      }
    }
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) expected("the name of a rule");
    return text_.substr(begin, at_ - begin);
  }

  RuleId find_rule(std::string_view name, std::size_t at) {
    const auto [it, added] = rules_.try_emplace(std::string(name), Rule{0, at});
    if (added) {
      it->second.id = builder_.add_rule(std::string(name));
      if (const auto other = options_.rules.find(name); other != options_.rules.end())
        builder_.define(it->second.id, *other->second->compiled());
    }
    return it->second.id;
  }

  void rule() {
    const std::size_t begin = at_;
    const std::string_view rule_name = name();
    const RuleId id = find_rule(rule_name, begin);
    if (builder_.defined(id)) error(begin, fmt::format("rule '{}' is defined twice", rule_name));
    space(false);
    if (text_.substr(at_, 3) != "::=") expected("'::='");
    at_ += 3;
    space(true);
    builder_.define(id, alternatives());
    space(true);
  }

  // The right-hand side of a rule, up to the end of the line. Open groups are a list, not recursive
  // calls, so that only memory limits their nesting.
  Piece alternatives() {
    std::vector<Group> groups;
    open(groups);
    Piece last{};  // the operand of a repetition operator
    bool has_last = false;
    for (;;) {
      const bool nested = groups.size() > 1;
      space(nested);
      const char c = peek();
      if (c == '(') {
        close_element(groups.back(), last, has_last);
        ++at_;
        open(groups);
        has_last = false;
      } else if (c == ')' && nested) {
        ++at_;
        close_element(groups.back(), last, has_last);
        last = close(groups);
        has_last = true;
      } else if (c == '|') {
        ++at_;
        close_element(groups.back(), last, has_last);
        next_alternative(groups.back());
        space(true);
      } else if (has_last && (c == '*' || c == '+' || c == '?' || c == '{')) {
        last = repetition(last);
      } else if (starts_element(c)) {
        close_element(groups.back(), last, has_last);
        last = element();
        has_last = true;
      } else {
        if (nested && at_ >= text_.size())
          error(groups.back().begin, "the group that begins here is not closed");
        if (nested) expected("an element, '|' or ')'");
        close_element(groups.back(), last, has_last);
        if (!continues_on_next_line()) return close(groups);
      }
    }
  }

  // At the end of a line: a rule may continue with '|' on the next one.
  bool continues_on_next_line() {
    const std::size_t line_end = at_;
    space(true);
    if (peek() == '|') return true;
    if (line_end < text_.size() && at_ == line_end) expected("an element or the end of the line");
    return false;
  }

  void open(std::vector<Group>& groups) {
    groups.push_back({builder_.piece(), 0, at_ > 0 ? at_ - 1 : 0});
    groups.back().at = groups.back().all.in;
  }

  Piece close(std::vector<Group>& groups) {
    const Group group = groups.back();
    groups.pop_back();
    builder_.skip(group.at, group.all.out);
    return group.all;
  }

  void close_element(Group& group, Piece last, bool& has_last) {
    if (!has_last) return;
    builder_.skip(group.at, last.in);
    group.at = last.out;
    has_last = false;
  }

  void next_alternative(Group& group) {
    builder_.skip(group.at, group.all.out);
    group.at = group.all.in;
  }

  bool starts_element(char c) const {
    return at_ < text_.size() && (c == '"' || c == '[' || c == '.' || c == '<' ||
                                  (c == '!' && peek(1) == '<') || is_name(c));
  }

  Piece element() {
    const char c = peek();
    if (c == '"') return literal();
    const Piece p = builder_.piece();
    if (c == '[') {
      add_character(builder_, p.in, char_class(), p.out);
    } else if (c == '.') {
      ++at_;
      add_character(builder_, p.in, CodePoints::all(), p.out);
    } else if (c == '<' || c == '!') {
      token(p);
    } else {
      const std::size_t begin = at_;
      builder_.call(p.in, find_rule(name(), begin), p.out);
    }
    return p;
  }

  Piece literal() {
    const std::size_t begin = at_++;
    std::string bytes;
    while (!take('"')) {
      if (at_ >= text_.size()) error(begin, "the literal that begins here is not closed");
      append_utf8(character(), bytes);
    }
    const Piece p = builder_.piece();
    builder_.text(p.in, bytes, p.out);
    return p;
  }

  CodePoints char_class() {
    const std::size_t begin = at_++;
    const bool inverted = take('^');
    CodePoints set;
    while (!take(']')) {
      if (at_ >= text_.size()) error(begin, "the character class that begins here is not closed");
      const std::size_t first_at = at_;
      const char32_t first = character();
      char32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        if (at_ >= text_.size()) error(begin, "the character class that begins here is not closed");
        last = character();
      }
      if (last < first) error(first_at, "the range ends before it begins");
      set.add(first, last);
    }
    if (inverted) set = set.inverted();
    if (set.empty()) error(begin, "the character class allows no character");
    return set;
  }

  // One character of a literal or a class, escapes resolved.
  char32_t character() {
    if (peek() != '\\') {
      const Utf8Char c = decode_utf8(text_, at_);
      if (!c.valid) error(at_, fmt::format("byte 0x{:02X} is not UTF-8", text_[at_] & 0xFF));
      at_ += c.length;
      return c.code;
    }
    const std::size_t begin = at_++;
    const char c = peek();
    ++at_;
    switch (c) {
      case 'x':
        return hex(begin, 2);
      case 'u':
        return hex(begin, 4);
      case 'U':
        return hex(begin, 8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        error(begin,
              "unknown escape; known: \\t \\r \\n \\\\ \\\" \\[ \\] \\- \\^ \\xHH \\uHHHH "
              "\\UHHHHHHHH");
    }
  }

  char32_t hex(std::size_t begin, int digits) {
    std::uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) error(begin, fmt::format("the escape needs {} hexadecimal digits", digits));
      value = value * 16 + static_cast<std::uint32_t>(digit);
    }
    if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF))
      error(begin, fmt::format("U+{:04X} is not a character", value));
    return value;
  }

  std::uint64_t count() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
      if (value > kMaxCount) error(begin, fmt::format("a count may be at most {}", kMaxCount));
    }
    if (at_ == begin) expected("a count");
    return value;
  }

  Piece repetition(Piece piece) {
    const std::size_t begin = at_;
    const char c = text_[at_++];
    if (c == '*') return builder_.star(piece);
    if (c == '+') return builder_.plus(piece);
    if (c == '?') return builder_.optional(piece);
    space(true);
    const std::uint64_t min = count();
    std::uint64_t max = min;
    space(true);
    if (take(',')) {
      space(true);
      max = peek() == '}' ? GrammarBuilder::kUnbounded : count();
      space(true);
    }
    if (!take('}')) expected("'}'");
    if (max < min) error(begin, fmt::format("{{{},{}}} ends before it begins", min, max));
    return builder_.repeat(
        builder_.add_rule(fmt::format("repetition at {}", position(begin)), piece), min, max);
  }

  // <[ID]>, <text>, !<...>
  void token(Piece p) {
    const std::size_t begin = at_;
    const bool negated = take('!');
    ++at_;
    const std::size_t end = text_.find_first_of(">\n", at_);
    if (end == std::string_view::npos || text_[end] != '>')
      error(begin, "the token that begins here is not closed by '>'");
    TokenId id = kNoToken;
    if (take('[')) {
      id = static_cast<TokenId>(std::min<std::uint64_t>(count(), kMaxCount - 1));
      if (!take(']') || at_ != end) expected("']>'");
    } else {
      const std::string_view text = text_.substr(at_ - 1, end - at_ + 2);
      if (!options_.find_token)
        error(begin,
              fmt::format("token {} is given by its text, but there is no vocabulary", text));
      id = options_.find_token(text);
      if (id == kNoToken) error(begin, fmt::format("the vocabulary has no token {}", text));
    }
    at_ = end + 1;
    builder_.token(p.in, id, negated, p.out);
  }

  std::string_view text_;
  const Grammar::GbnfOptions& options_;
  std::size_t at_ = 0;
  mutable Place place_;
  GrammarBuilder builder_;
  std::map<std::string, Rule, std::less<>> rules_;
};

}  // namespace

std::shared_ptr<const Grammar> Grammar::from_gbnf(std::string_view text,
                                                  const GbnfOptions& options) {
  const DefaultLimits limits;
  return std::make_shared<Grammar>(
      std::make_shared<const CompiledGrammar>(GbnfParser(text, options).parse()));
}

}  // namespace weft

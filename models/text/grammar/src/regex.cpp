#include "regex.h"

#include <cctype>
#include <map>
#include <string>

#include <utf8proc.h>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/grammar/grammar.h"

#include "program.h"

namespace weft {
namespace grammar {
namespace {

constexpr int kMaxDepth = 500;
constexpr std::uint64_t kMaxCount = 100'000;

CodePoints digits() {
  return {'0', '9'};
}

CodePoints word() {
  CodePoints set('0', '9');
  set.add('A', 'Z');
  set.add('a', 'z');
  set.add('_', '_');
  return set;
}

// WhiteSpace and LineTerminator of ECMA-262.
CodePoints spaces() {
  CodePoints set('\t', '\r');
  set.add(' ', ' ');
  set.add(0xA0, 0xA0);
  set.add(0x1680, 0x1680);
  set.add(0x2000, 0x200A);
  set.add(0x2028, 0x2029);
  set.add(0x202F, 0x202F);
  set.add(0x205F, 0x205F);
  set.add(0x3000, 0x3000);
  set.add(0xFEFF, 0xFEFF);
  return set;
}

CodePoints line_ends() {
  CodePoints set = CodePoints::of("\n\r");
  set.add(0x2028, 0x2029);
  return set;
}

// \p{Lu}, \p{Letter}, \p{gc=L}: general categories. Empty for unknown names.
CodePoints category(std::string name) {
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  static constexpr std::pair<std::string_view, std::string_view> kLong[] = {
      {"Letter", "L"},
      {"Uppercase_Letter", "Lu"},
      {"Lowercase_Letter", "Ll"},
      {"Titlecase_Letter", "Lt"},
      {"Modifier_Letter", "Lm"},
      {"Other_Letter", "Lo"},
      {"Mark", "M"},
      {"Number", "N"},
      {"Decimal_Number", "Nd"},
      {"digit", "Nd"},
      {"Letter_Number", "Nl"},
      {"Punctuation", "P"},
      {"punct", "P"},
      {"Symbol", "S"},
      {"Math_Symbol", "Sm"},
      {"Currency_Symbol", "Sc"},
      {"Separator", "Z"},
      {"Space_Separator", "Zs"},
      {"Other", "C"},
      {"Control", "Cc"},
      {"cntrl", "Cc"}};
  for (const auto& [long_name, short_name] : kLong)
    if (name == long_name) name = short_name;
  CodePoints set;
  if (name == "ASCII") return {0, 0x7F};
  if (name == "Any") return CodePoints::all();
  if (name.empty() || name.size() > 2) return set;
  char32_t begin = 0;
  bool inside = false;
  for (char32_t code = 0; code <= kMaxCodePoint + 1; ++code) {
    const std::string_view has =
        code > kMaxCodePoint ? "" : utf8proc_category_string(static_cast<utf8proc_int32_t>(code));
    const bool in = has.starts_with(name);
    if (in && !inside) begin = code;
    if (!in && inside) set.add(begin, code - 1);
    inside = in;
  }
  return set;
}

// Builds an automaton while it parses. A look-ahead applies to everything up to the end of the
// text. It is supported in alternatives of the whole pattern, where it is an intersection of
// languages.
class RegexParser {
 public:
  RegexParser(std::string_view pattern, bool whole) : pattern_(pattern), whole_(whole) {}

  Dfa compile() {
    std::optional<Dfa> all;
    do {
      Dfa branch = top_branch();
      all = all ? all->either(branch) : std::move(branch);
    } while (take('|'));
    if (at_ < pattern_.size()) error(at_, "')' without '('");
    return *all;
  }

 private:
  using Piece = Nfa::Piece;

  [[noreturn]] void error(std::size_t at, const std::string& what) const {
    fail<FormatError>("pattern '{}', column {}: {}", pattern_, at + 1, what);
  }
  [[noreturn]] void unsupported(std::size_t at, const std::string& what) const {
    fail<UnsupportedError>("pattern '{}', column {}: {} is not supported: it is not regular",
                           pattern_, at + 1, what);
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool more() const { return at_ < pattern_.size(); }
  bool take(char c) {
    if (!more() || pattern_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (pattern_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  Nfa::Piece anything() {
    const Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out);
    nfa_.edge(p.out, CodePoints::all(), p.out);
    return p;
  }
  Piece chain(Piece a, Piece b) {
    nfa_.skip(a.out, b.in);
    return {a.in, b.out};
  }

  // One alternative of the whole pattern: what comes before an assertion, followed by the
  // intersection of the assertion's language and what comes after it.
  Dfa top_branch() {
    nfa_ = Nfa();
    Piece before = nfa_.piece();
    nfa_.skip(before.in, before.out);
    if (!whole_) before = chain(before, anything());
    bool only_begin = true;
    while (more() && peek() != '|' && peek() != ')') {
      const std::size_t begin = at_;
      const bool ahead = pattern_.substr(at_, 3) == "(?=";
      if (ahead || pattern_.substr(at_, 3) == "(?!") {
        // The language after the assertion starts at the start of the text only if just '^' came
        // before; otherwise the intersection would be needed at every position.
        if (!only_begin || (!whole_ && !anchored_))
          unsupported(begin, "a look-ahead after other characters");
        at_ += 3;
        return look_ahead(begin, ahead);
      }
      if (peek() == '^') anchored_ = true;
      only_begin &= peek() == '^';
      before = chain(before, term(0));
    }
    anchored_ = false;
    if (!whole_) before = chain(before, anything());
    return Dfa::of(nfa_, before);
  }

  Dfa look_ahead(std::size_t begin, bool positive) {
    nfa_ = Nfa();
    const Piece inner = alternatives(0);
    if (!take(')')) error(begin, "the group that begins here is not closed");
    const Dfa asserted = Dfa::of(nfa_, chain(inner, anything()));
    const Dfa rest = rest_of_branch();
    return positive ? rest.both(asserted) : rest.without(asserted);
  }

  Dfa rest_of_branch() {
    nfa_ = Nfa();
    Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out);
    bool first = true;
    while (more() && peek() != '|' && peek() != ')') {
      const std::size_t begin = at_;
      const bool ahead = pattern_.substr(at_, 3) == "(?=";
      if (ahead || pattern_.substr(at_, 3) == "(?!") {
        if (!first) unsupported(begin, "a look-ahead after other characters");
        at_ += 3;
        nfa_ = Nfa();
        const Piece inner = alternatives(0);
        if (!take(')')) error(begin, "the group that begins here is not closed");
        const Dfa asserted = Dfa::of(nfa_, chain(inner, anything()));
        const Dfa rest = rest_of_branch();
        return ahead ? rest.both(asserted) : rest.without(asserted);
      }
      first = false;
      p = chain(p, term(0));
    }
    anchored_ = false;
    if (!whole_) p = chain(p, anything());
    return Dfa::of(nfa_, p);
  }

  Piece alternatives(int depth) {
    if (depth > kMaxDepth) error(at_, fmt::format("more than {} groups in each other", kMaxDepth));
    const Piece all = nfa_.piece();
    do {
      Nfa::State at = all.in;
      while (more() && peek() != '|' && peek() != ')') {
        const Piece p = term(depth);
        nfa_.skip(at, p.in);
        at = p.out;
      }
      nfa_.skip(at, all.out);
    } while (take('|'));
    return all;
  }

  // An atom with its quantifier.
  Piece term(int depth) {
    const std::size_t begin = at_;
    if (take('^')) return assertion(Nfa::Assert::begin);
    if (take('$')) return assertion(Nfa::Assert::end);
    Piece p = atom(depth);
    const std::size_t end = at_;
    std::uint64_t min = 1, max = 1;
    if (!quantifier(min, max)) return p;
    if (max != ProgramBuilder::kUnbounded && max < min)
      error(end, "the numbers of the quantifier are out of order");
    take('?');  // lazy or greedy does not matter here
    if (char c = peek(); more() && (c == '*' || c == '+' || c == '?'))
      error(at_, "nothing to repeat");
    // Copies are made by parsing the atom again.
    const std::size_t after = at_;
    auto copy = [&, n = 0]() mutable {
      if (n++ == 0) return p;
      at_ = begin;
      const Piece again = atom(depth);
      at_ = after;
      return again;
    };
    return repeated(copy, min, max);
  }

  template <class Copy>
  Piece repeated(Copy& copy, std::uint64_t min, std::uint64_t max) {
    const Piece all = nfa_.piece();
    Nfa::State at = all.in;
    for (std::uint64_t i = 0; i < min; ++i) {
      const Piece p = copy();
      nfa_.skip(at, p.in);
      at = p.out;
    }
    if (max == ProgramBuilder::kUnbounded) {
      const Piece p = copy();
      const Nfa::State loop = nfa_.state();
      nfa_.skip(at, loop);
      nfa_.skip(loop, p.in);
      nfa_.skip(p.out, loop);
      nfa_.skip(loop, all.out);
      return all;
    }
    for (std::uint64_t i = min; i < max; ++i) {
      const Piece p = copy();
      nfa_.skip(at, all.out);
      nfa_.skip(at, p.in);
      at = p.out;
    }
    nfa_.skip(at, all.out);
    return all;
  }

  Piece assertion(Nfa::Assert where) {
    const Piece p = nfa_.piece();
    nfa_.skip(p.in, p.out, where);
    return p;
  }

  bool quantifier(std::uint64_t& min, std::uint64_t& max) {
    if (take('*')) return min = 0, max = ProgramBuilder::kUnbounded, true;
    if (take('+')) return max = ProgramBuilder::kUnbounded, true;
    if (take('?')) return min = 0, true;
    if (peek() != '{') return false;
    const std::size_t begin = at_++;
    const auto number = [&](std::uint64_t& value) {
      const std::size_t from = at_;
      value = 0;
      while (peek() >= '0' && peek() <= '9') {
        value = value * 10 + static_cast<std::uint64_t>(pattern_[at_++] - '0');
        if (value > kMaxCount) error(begin, fmt::format("a count may be at most {}", kMaxCount));
      }
      return at_ > from;
    };
    bool ok = number(min);
    max = min;
    if (ok && take(',') && !number(max)) max = ProgramBuilder::kUnbounded;
    if (ok && take('}')) return true;
    at_ = begin;  // a brace that is just a brace
    return false;
  }

  Piece one_of(const CodePoints& set) {
    const Piece p = nfa_.piece();
    nfa_.edge(p.in, set, p.out);
    return p;
  }

  Piece atom(int depth) {
    const std::size_t begin = at_;
    if (take('(')) return group(begin, depth);
    if (take('.')) return one_of(line_ends().inverted());
    if (take('[')) return one_of(char_class(begin));
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') error(begin, "nothing to repeat");
    if (c == '\\') {
      ++at_;
      return one_of(escape(begin, false));
    }
    const char32_t code = character();
    return one_of({code, code});
  }

  Piece group(std::size_t begin, int depth) {
    if (take("?:")) {
    } else if (take("?<=") || take("?<!")) {
      unsupported(begin, "look-behind");
    } else if (take("?=") || take("?!")) {
      unsupported(begin, "a look-ahead inside a group");
    } else if (take("?<")) {
      const std::size_t end = pattern_.find('>', at_);
      if (end == std::string_view::npos) error(begin, "the group's name is not closed");
      at_ = end + 1;
    } else if (peek() == '?') {
      error(begin, "unknown kind of group");
    }
    const Piece p = alternatives(depth + 1);
    if (!take(')')) error(begin, "the group that begins here is not closed");
    return p;
  }

  char32_t character() {
    const Utf8Char c = decode_utf8(pattern_, at_);
    if (!c.valid) error(at_, "not UTF-8");
    at_ += c.length;
    return c.code;
  }

  // A set of one character for escapes that mean one.
  CodePoints escape(std::size_t begin, bool in_class) {
    if (!more()) error(begin, "a backslash at the end");
    const char32_t code = character();
    switch (code) {
      case 'd':
        return digits();
      case 'D':
        return digits().inverted();
      case 'w':
        return word();
      case 'W':
        return word().inverted();
      case 's':
        return spaces();
      case 'S':
        return spaces().inverted();
      case 'p':
      case 'P':
        return property(begin, code == 'P');
      case 'b':
        if (in_class) return {'\b', '\b'};
        [[fallthrough]];
      case 'B':
        unsupported(begin, "a word boundary");
      default:
        break;
    }
    static constexpr std::pair<char32_t, char32_t> kControls[] = {
        {'t', '\t'}, {'n', '\n'}, {'v', '\v'}, {'f', '\f'}, {'r', '\r'}};
    for (const auto& [letter, meant] : kControls)
      if (code == letter) return {meant, meant};
    if (code == 'c') {
      const char32_t letter = more() ? character() : 0;
      if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
        error(begin, "\\c needs a letter");
      return {letter % 32, letter % 32};
    }
    if (code == '0' && !(peek() >= '0' && peek() <= '9')) return {0, 0};
    if (code >= '0' && code <= '9') unsupported(begin, "a back reference");
    if (code == 'k' && peek() == '<') unsupported(begin, "a back reference");
    if (code == 'x' || code == 'u') {
      const char32_t value = code_number(begin, code == 'x' ? 2 : 4);
      return {value, value};
    }
    if ((code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z'))
      error(begin, fmt::format("unknown escape \\{}", static_cast<char>(code)));
    return {code, code};
  }

  char32_t hex(std::size_t begin, int digits_wanted) {
    char32_t value = 0;
    for (int i = 0; i < digits_wanted; ++i, ++at_) {
      const char c = peek();
      if (!std::isxdigit(static_cast<unsigned char>(c)))
        error(begin, fmt::format("the escape needs {} hexadecimal digits", digits_wanted));
      value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
  }

  char32_t code_number(std::size_t begin, int digits_wanted) {
    char32_t value = 0;
    if (digits_wanted == 4 && take('{')) {
      const std::size_t end = pattern_.find('}', at_);
      if (end == std::string_view::npos || end == at_ || end - at_ > 6)
        error(begin, "\\u{...} needs 1 to 6 hexadecimal digits");
      value = hex(begin, static_cast<int>(end - at_));
      ++at_;
    } else {
      value = hex(begin, digits_wanted);
    }
    if (value >= 0xD800 && value <= 0xDBFF && take("\\u")) {
      const char32_t low = hex(begin, 4);
      if (low >= 0xDC00 && low <= 0xDFFF) value = 0x10000 + ((value - 0xD800) << 10) + low - 0xDC00;
    }
    if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF))
      error(begin, fmt::format("U+{:04X} is not a character", static_cast<std::uint32_t>(value)));
    return value;
  }

  CodePoints property(std::size_t begin, bool inverted) {
    const std::size_t end = pattern_.find('}', at_);
    if (!take('{') || end == std::string_view::npos) error(begin, "\\p needs {NAME}");
    const std::string name(pattern_.substr(at_, end - at_));
    const auto [known, added] = categories_.try_emplace(name);
    if (added) known->second = category(name);  // a repetition reads its atom again and again
    const CodePoints& set = known->second;
    if (set.empty())
      fail<UnsupportedError>(
          "pattern '{}', column {}: unknown property '{}' (general categories "
          "are known)",
          pattern_, begin + 1, name);
    at_ = end + 1;
    return inverted ? set.inverted() : set;
  }

  CodePoints class_item(std::size_t begin) {
    if (!more()) error(begin, "the character class that begins here is not closed");
    const std::size_t from = at_;
    if (take('\\')) return escape(from, true);
    const char32_t code = character();
    return {code, code};
  }

  static bool single(const CodePoints& set) {
    return set.ranges().size() == 1 && set.ranges()[0].lo == set.ranges()[0].hi;
  }

  CodePoints char_class(std::size_t begin) {
    const bool inverted = take('^');
    CodePoints set;
    while (!take(']')) {
      const std::size_t from = at_;
      const CodePoints first = class_item(begin);
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= pattern_.size()) {
        set.add(first);
        continue;
      }
      ++at_;
      const CodePoints last = class_item(begin);
      if (!single(first) || !single(last)) {  // [\w-.]: the hyphen is just a hyphen
        set.add(first);
        set.add('-', '-');
        set.add(last);
        continue;
      }
      if (last.ranges()[0].lo < first.ranges()[0].lo)
        error(from, "the range ends before it begins");
      set.add(first.ranges()[0].lo, last.ranges()[0].lo);
    }
    return inverted ? set.inverted() : set;
  }

  std::string_view pattern_;
  bool whole_;
  bool anchored_ = false;
  std::map<std::string, CodePoints> categories_;
  std::size_t at_ = 0;
  Nfa nfa_;
};

}  // namespace

Dfa compile_regex(std::string_view pattern, bool whole) {
  return RegexParser(pattern, whole).compile();
}

}  // namespace grammar

std::shared_ptr<const Grammar> Grammar::from_regex(std::string_view pattern) {
  using namespace grammar;
  const Dfa dfa = compile_regex(pattern, true);
  if (dfa.empty()) fail<FormatError>("pattern '{}' matches no text", pattern);
  ProgramBuilder builder;
  std::vector<StateId> states;
  for (std::size_t i = 0; i < dfa.size(); ++i) states.push_back(builder.state());
  const StateId end = builder.state();
  for (Dfa::State s = 1; s < dfa.size(); ++s) {
    for (const auto& [to, set] : dfa.moves(s)) builder.character(states[s], set, states[to]);
    if (dfa.accepts(s)) builder.skip(states[s], end);
  }
  const RuleId root = builder.add_rule("pattern", {states[dfa.start()], end});
  return std::make_shared<Grammar>(std::make_shared<const Program>(builder.finish(root, false)));
}

}  // namespace weft

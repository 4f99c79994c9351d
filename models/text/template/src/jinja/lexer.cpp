#include <algorithm>

#include "weft/base/text.h"
#include "weft/base/utf8.h"

#include "jinja/ast.h"

namespace weft::jinja {
namespace {

using Type = Token::Type;

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) outside();
    push(Type::end, at_);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string message) const {
    const Position p = position(source_, at);
    throw ChatTemplateError(p.line, p.column, std::move(message), ChatTemplateError::Cause::fault);
  }
  void push(Type type, std::size_t at, std::string text = {}) {
    tokens_.push_back({type, at, std::move(text)});
  }
  bool looking_at(std::string_view text, std::size_t at) const {
    return source_.substr(at).starts_with(text);
  }

  // Text up to the next tag, and the tag.
  void outside() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
        if (at_ < source_.size()) push(Type::data, at_, std::string(source_.substr(at_)));
        at_ = source_.size();
        return;
      }
      if (const char c = source_[tag + 1]; c == '%' || c == '{' || c == '#') break;
    }
    const char sort = source_[tag + 1];
    std::size_t inside = tag + 2;
    char sign = inside < source_.size() ? source_[inside] : '\0';
    if (sign == '-' || sign == '+')
      ++inside;
    else
      sign = '\0';
    push_data(tag, sign, sort != '{');
    line_starts_ = false;
    at_ = inside;
    if (sort == '#') return comment(tag);
    if (sort == '%' && raw(tag)) return;
    push(sort == '%' ? Type::block_begin : Type::variable_begin, tag);
    expression(tag, sort == '%' ? "%}" : "}}", sort == '%');
  }

  // lstrip_blocks: removes white space before a block tag that is the first of its line.
  void push_data(std::size_t end, char sign, bool strips) {
    std::string_view text = source_.substr(at_, end - at_);
    if (sign == '-') {
      text = trim_right(text);
    } else if (sign == '\0' && strips) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line > 0 || line_starts_) && skip_spaces(text, line) == text.size())
        text = text.substr(0, line);
    }
    if (!text.empty()) push(Type::data, at_, std::string(text));
  }

  // Removes what belongs to a tag's end that begins at `at`. trim_blocks: one newline.
  void finish_tag(std::size_t at, std::size_t length, bool strips, bool trims) {
    at_ = at + length;
    if (strips)
      at_ = skip_spaces(source_, at_);
    else if (trims && at_ < source_.size() && source_[at_] == '\n')
      ++at_;
    line_starts_ = source_[at_ - 1] == '\n';
  }

  void comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) fail(tag, "this comment has no end: '#}' is missing");
    const char before = end > at_ ? source_[end - 1] : '\0';
    finish_tag(end, 2, before == '-', before != '+');
  }

  bool raw(std::size_t tag) {
    std::size_t at = skip_spaces(source_, at_);
    if (!looking_at("raw", at)) return false;
    at = skip_spaces(source_, at + 3);
    const bool strips = looking_at("-%}", at);
    if (!strips && !looking_at("%}", at)) return false;
    finish_tag(at, strips ? 3 : 2, strips, false);
    for (std::size_t end = at_;; ++end) {
      end = source_.find("{%", end);
      if (end == std::string_view::npos) fail(tag, "this raw block has no end");
      std::size_t inside = end + 2;
      char sign = inside < source_.size() ? source_[inside] : '\0';
      if (sign == '-' || sign == '+')
        ++inside;
      else
        sign = '\0';
      inside = skip_spaces(source_, inside);
      if (!looking_at("endraw", inside)) continue;
      inside = skip_spaces(source_, inside + 6);
      const bool minus = looking_at("-%}", inside), plus = looking_at("+%}", inside);
      if (!minus && !plus && !looking_at("%}", inside)) continue;
      push_data(end, sign, true);
      finish_tag(inside, minus || plus ? 3 : 2, minus, !plus);
      return true;
    }
  }

  void expression(std::size_t tag, std::string_view end, bool is_block) {
    std::string open;  // brackets
    for (;;) {
      at_ = skip_spaces(source_, at_);
      if (at_ >= source_.size())
        fail(tag, fmt::format("this tag has no end: '{}' is missing", end));
      if (open.empty()) {
        const char c = source_[at_];
        const bool signed_end = (c == '-' || (c == '+' && is_block)) && looking_at(end, at_ + 1);
        if (signed_end || looking_at(end, at_)) {
          push(is_block ? Type::block_end : Type::variable_end, at_);
          finish_tag(at_, signed_end ? 3 : 2, signed_end && c == '-',
                     is_block && !(signed_end && c == '+'));
          return;
        }
      }
      token(open);
    }
  }

  void token(std::string& open) {
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (is_word(c)) {
      const std::size_t begin = at_;
      while (at_ < source_.size() && is_word(source_[at_])) ++at_;
      return push(Type::name, begin, std::string(source_.substr(begin, at_ - begin)));
    }
    if (c == '"' || c == '\'') return string(c);
    for (const std::string_view op : {"//", "**", "==", "!=", ">=", "<="}) {
      if (!looking_at(op, at_)) continue;
      push(Type::op, at_, std::string(op));
      at_ += 2;
      return;
    }
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos)
      fail(at_, fmt::format("unexpected character {}", c >= ' ' && c < 127
                                                           ? fmt::format("'{}'", c)
                                                           : fmt::format("{:#04x}", c & 0xff)));
    balance(c, open);
    push(Type::op, at_++, std::string(1, c));
  }

  void balance(char c, std::string& open) {
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (open.empty()) fail(at_, fmt::format("unexpected '{}'", c));
    if (open.back() != c) fail(at_, fmt::format("unexpected '{}', expected '{}'", c, open.back()));
    open.pop_back();
  }

  std::size_t digits(std::size_t at) const {
    while (at < source_.size() &&
           (is_digit(source_[at]) ||
            (source_[at] == '_' && at + 1 < source_.size() && is_digit(source_[at + 1]))))
      ++at;
    return at;
  }

  void number() {
    const std::size_t begin = at_;
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';
    const char sort = at_ + 1 < source_.size() ? static_cast<char>(source_[at_ + 1] | 0x20) : '\0';
    Type type = Type::integer;
    if (source_[at_] == '0' && (sort == 'x' || sort == 'o' || sort == 'b')) {
      at_ += 2;
      while (at_ < source_.size() &&
             (std::isxdigit(static_cast<unsigned char>(source_[at_])) || source_[at_] == '_'))
        ++at_;
    } else {
      at_ = digits(at_);
      if (!after_dot) {
        if (at_ + 1 < source_.size() && source_[at_] == '.' && is_digit(source_[at_ + 1])) {
          at_ = digits(at_ + 1);
          type = Type::real;
        }
        if (at_ + 1 < source_.size() && (source_[at_] | 0x20) == 'e') {
          const std::size_t sign = source_[at_ + 1] == '+' || source_[at_ + 1] == '-' ? 2 : 1;
          if (at_ + sign < source_.size() && is_digit(source_[at_ + sign])) {
            at_ = digits(at_ + sign);
            type = Type::real;
          }
        }
      }
    }
    std::string text(source_.substr(begin, at_ - begin));
    std::erase(text, '_');
    push(type, begin, std::move(text));
  }

  void string(char quote) {
    const std::size_t begin = at_++;
    std::string text;
    for (;;) {
      if (at_ >= source_.size()) fail(begin, "this string has no end");
      const char c = source_[at_++];
      if (c == quote) break;
      if (c == '\\' && at_ < source_.size())
        escape(text);
      else
        text += c;
    }
    push(Type::string, begin, std::move(text));
  }

  void escape(std::string& text) {
    static constexpr std::string_view kFrom = "abfnrtv\\'\"", kTo = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[at_++];
    if (c == '\n') return;
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      text += kTo[i];
      return;
    }
    if (c >= '0' && c <= '7') {
      char32_t code = static_cast<char32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7';
           ++i)
        code = code * 8 + static_cast<char32_t>(source_[at_++] - '0');
      append_utf8(code, text);
      return;
    }
    const std::size_t n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n == 0) {
      text += '\\';
      text += c;
      return;
    }
    char32_t code = hex(n);
    if (code >= 0xD800 && code < 0xDC00 && looking_at("\\u", at_)) {
      at_ += 2;
      const char32_t low = hex(4);
      if (low < 0xDC00 || low > 0xDFFF) fail(at_ - 6, "a surrogate without its other half");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail(at_ - n - 2, "this escape does not name a character");
    append_utf8(code, text);
  }

  char32_t hex(std::size_t n) {
    char32_t code = 0;
    for (std::size_t i = 0; i < n; ++i, ++at_) {
      const char d = at_ < source_.size() ? source_[at_] : ' ';
      if (!std::isxdigit(static_cast<unsigned char>(d))) fail(at_, "expected a hexadecimal digit");
      code = code * 16 + static_cast<char32_t>(is_digit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
    }
    return code;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_starts_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += source[i] == '\r' ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<Token> lex(std::string_view source) {
  return Lexer(source).run();
}

Position position(std::string_view source, std::size_t offset) {
  const std::string_view before = source.substr(0, std::min(offset, source.size()));
  const std::size_t newline = before.rfind('\n');
  const std::string_view line =
      newline == std::string_view::npos ? before : before.substr(newline + 1);
  const auto begins_character = [](char c) { return (c & 0xC0) != 0x80; };
  return {1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<std::size_t>(std::count_if(line.begin(), line.end(), begins_character))};
}

}  // namespace weft::jinja

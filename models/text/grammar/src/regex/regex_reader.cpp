#include "regex/regex_reader.h"

#include <cctype>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "regex/named_sets.h"

namespace weft::grammar {
namespace {

bool is_letter(char32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

bool single(const CodePoints& set) {
  return set.ranges().size() == 1 && set.ranges()[0].lo == set.ranges()[0].hi;
}

}  // namespace

void RegexReader::error(std::size_t at, const std::string& what) const {
  fail<FormatError>("pattern '{}', column {}: {}", pattern_, at + 1, what);
}

void RegexReader::unsupported(std::size_t at, const std::string& what) const {
  fail<UnsupportedError>("pattern '{}', column {}: {} is not supported: it is not regular",
                         pattern_, at + 1, what);
}

char32_t RegexReader::character() {
  const Utf8Char c = decode_utf8(pattern_, at_);
  if (!c.valid) error(at_, "not UTF-8");
  at_ += c.length;
  return c.code;
}

CodePoints RegexReader::escape(std::size_t begin, bool in_class) {
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
    default: {
      const char32_t meant = escaped_character(begin, code);
      return {meant, meant};
    }
  }
}

// The character that a backslash and `code` stand for.
char32_t RegexReader::escaped_character(std::size_t begin, char32_t code) {
  static constexpr std::pair<char32_t, char32_t> kControls[] = {
      {'t', '\t'}, {'n', '\n'}, {'v', '\v'}, {'f', '\f'}, {'r', '\r'}};
  for (const auto& [letter, meant] : kControls)
    if (code == letter) return meant;
  if (code == 'c') {
    const char32_t letter = more() ? character() : 0;
    if (!is_letter(letter)) error(begin, "\\c needs a letter");
    return letter % 32;
  }
  if (code == '0' && !(peek() >= '0' && peek() <= '9')) return 0;
  if (code >= '0' && code <= '9') unsupported(begin, "a back reference");
  if (code == 'k' && peek() == '<') unsupported(begin, "a back reference");
  if (code == 'x' || code == 'u') return code_number(begin, code == 'x' ? 2 : 4);
  if (is_letter(code)) error(begin, fmt::format("unknown escape \\{}", static_cast<char>(code)));
  return code;
}

char32_t RegexReader::hex(std::size_t begin, int digits_wanted) {
  char32_t value = 0;
  for (int i = 0; i < digits_wanted; ++i, ++at_) {
    const char c = peek();
    if (!std::isxdigit(static_cast<unsigned char>(c)))
      error(begin, fmt::format("the escape needs {} hexadecimal digits", digits_wanted));
    value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return value;
}

char32_t RegexReader::code_number(std::size_t begin, int digits_wanted) {
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

CodePoints RegexReader::property(std::size_t begin, bool inverted) {
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

CodePoints RegexReader::class_item(std::size_t begin) {
  if (!more()) error(begin, "the character class that begins here is not closed");
  const std::size_t from = at_;
  if (take('\\')) return escape(from, true);
  const char32_t code = character();
  return {code, code};
}

CodePoints RegexReader::char_class(std::size_t begin) {
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
    if (last.ranges()[0].lo < first.ranges()[0].lo) error(from, "the range ends before it begins");
    set.add(first.ranges()[0].lo, last.ranges()[0].lo);
  }
  return inverted ? set.inverted() : set;
}

}  // namespace weft::grammar

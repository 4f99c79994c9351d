#include "weft/tokenize/space_symbol.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

void check_grown_text(std::size_t size, std::size_t limit) {
  if (size <= limit) return;
  fail<ValueError>(
      "a text has grown to more than {} bytes while spaces and characters were replaced: it is too "
      "long to encode at once",
      limit);
}

int hex_value(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool space = text.substr(at, kSpaceSymbol.size()) == kSpaceSymbol;
    out += space ? ' ' : text[at];
    at += space ? kSpaceSymbol.size() : 1;
  }
  return out;
}

void append_with_space_symbols(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceSymbol;
    } else {
      out += c;
    }
  }
}

std::string with_space_symbols(std::string_view text, bool prefix, std::size_t limit) {
  const auto n_spaces = static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
  const std::size_t size =
      text.size() + n_spaces * (kSpaceSymbol.size() - 1) + (prefix ? kSpaceSymbol.size() : 0);
  check_grown_text(size, limit);
  std::string out;
  out.reserve(size);
  if (prefix) out += kSpaceSymbol;
  append_with_space_symbols(text, out);
  return out;
}

int byte_token_value(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>')
             ? hex_value(text.substr(3, 2))
             : -1;
}

}  // namespace weft

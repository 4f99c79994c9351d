#include "text/space_symbol.h"

namespace weft {

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

std::string with_space_symbols(std::string_view text, bool prefix) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + kSpaceSymbol.size());
  if (prefix) out += kSpaceSymbol;
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceSymbol;
    } else {
      out += c;
    }
  }
  return out;
}

int byte_token_value(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>')
             ? hex_value(text.substr(3, 2))
             : -1;
}

}  // namespace weft

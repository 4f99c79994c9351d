#include "weft/base/printable.h"

#include <cstdint>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

bool needs_escape(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const Utf8Char c = decode_utf8(text, i);
    if (i + c.length > max_bytes) return out + "...";
    if (!c.valid) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\r') {
      out += "\\r";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (c.code == '\\') {
      out += "\\\\";
    } else if (needs_escape(c.code)) {
      out += c.code < 0x80 ? fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c.code))
                           : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.code));
    } else {
      out += text.substr(i, c.length);
    }
    i += c.length;
  }
  return out;
}

std::string printable_path(std::string_view path) {
  constexpr std::size_t kMaxPath = 4096;  // PATH_MAX of Linux
  return printable(path, kMaxPath);
}

}  // namespace weft

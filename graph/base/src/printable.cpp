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

void append_escape(const Utf8Char& c, char first_byte, std::string& out) {
  const auto code = static_cast<std::uint32_t>(c.code);
  if (!c.valid)
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(first_byte));
  else if (c.code == '\n' || c.code == '\r' || c.code == '\t')
    out += c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t";
  else
    out += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const Utf8Char c = decode_utf8(text, i);
    if (i + c.length > max_bytes) return out + "...";
    if (!c.valid || needs_escape(c.code))
      append_escape(c, text[i], out);
    else if (c.code == '\\')
      out += "\\\\";
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out;
}

std::string printable_path(std::string_view path) {
  constexpr std::size_t kMaxPath = 4096;  // PATH_MAX of Linux
  return printable(path, kMaxPath);
}

std::string terminal_safe(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text, i);
    const bool lays_out = c.code == '\n' || c.code == '\t' || text.substr(i).starts_with("\r\n");
    if (!c.valid || (needs_escape(c.code) && !lays_out))
      append_escape(c, text[i], out);
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  return out;
}

}  // namespace weft

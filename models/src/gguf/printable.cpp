#include <cstdint>

#include "weft/graph/error.h"
#include "weft/models/gguf.h"

namespace weft {
namespace {

struct Decoded {
  std::uint32_t code = 0;
  std::size_t length = 0;  // 0: no UTF-8 here
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[length] || code > 0x10ffff || surrogate ? Decoded{} : Decoded{code, length};
}

bool needs_escape(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const Decoded c = decode_utf8(text.substr(i));
    const std::size_t length = c.length ? c.length : 1;
    if (i + length > max_bytes) return out + "...";
    if (c.length == 0) {
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
      out += c.code < 0x80 ? fmt::format("\\x{:02x}", c.code) : fmt::format("\\u{:04x}", c.code);
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

}  // namespace weft

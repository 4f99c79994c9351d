#include "weft/tokenize/byte_map.h"

#include <array>

#include "weft/base/no_destructor.h"
#include "weft/base/utf8.h"

namespace weft::tokenize {
namespace {

constexpr char32_t kFirstShifted = 0x100;

bool is_kept(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Maps {
  std::array<std::string, 256> text;
  std::array<std::int16_t, kFirstShifted + 256>
      byte;  // by code point; -1: not part of the notation

  Maps() {
    byte.fill(-1);
    char32_t shifted = kFirstShifted;
    for (unsigned b = 0; b < 256; ++b) {
      const char32_t code = is_kept(b) ? b : shifted++;
      append_utf8(code, text[b]);
      byte[code] = static_cast<std::int16_t>(b);
    }
  }
};

const Maps& maps() {
  static const NoDestructor<Maps> maps;
  return *maps;
}

}  // namespace

std::string_view byte_as_text(std::uint8_t byte) {
  return maps().text[byte];
}

std::optional<std::string> text_as_bytes(std::string_view text) {
  const auto& byte = maps().byte;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid || c.code >= byte.size() || byte[c.code] < 0) return std::nullopt;
    out += static_cast<char>(byte[c.code]);
    at += c.length;
  }
  return out;
}

}  // namespace weft::tokenize

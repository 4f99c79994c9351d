#include "weft/base/json_string.h"

#include "weft/base/utf8.h"

namespace weft {
namespace {

void append_unit(std::string& out, std::uint32_t unit) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += {'\\',           'u', kHex[unit >> 12 & 15], kHex[unit >> 8 & 15], kHex[unit >> 4 & 15],
          kHex[unit & 15]};
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

}  // namespace

void append_json_escape(std::string& out, char32_t code) {
  static constexpr std::string_view kFrom = "\b\f\n\r\t\"\\", kTo = "bfnrt\"\\";
  const std::size_t i = code < 0x80 ? kFrom.find(static_cast<char>(code)) : kFrom.npos;
  const auto n = static_cast<std::uint32_t>(code);
  if (i != kFrom.npos) {
    out += {'\\', kTo[i]};
  } else if (n < 0x10000) {
    append_unit(out, n);
  } else {  // a pair of surrogates
    append_unit(out, 0xD7C0 + (n >> 10));
    append_unit(out, 0xDC00 + (n & 0x3FF));
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // not yet written
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      ++at;
      continue;
    }
    const Utf8Char c = decode_utf8(text, at);
    if (c.valid && c.code >= 0x80) {
      at += c.length;
      continue;
    }
    out += text.substr(plain, at - plain);
    if (c.valid)
      append_json_escape(out, c.code);
    else
      append_utf8(kReplacementCharacter, out);
    at += c.valid ? c.length : invalid_utf8(text, at);
    plain = at;
  }
  out += text.substr(plain);
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace weft

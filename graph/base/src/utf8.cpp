#include "weft/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace weft {
namespace {

// The form that the first byte determines: the length, and the range of the second byte, which
// excludes overlong forms, surrogates and codes past U+10FFFF (table 3-7 of the Unicode standard).
struct Lead {
  std::size_t length;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

Lead lead(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many bytes from `at` on match the form that the first one determines.
std::size_t agreeing_bytes(std::string_view text, std::size_t at, const Lead& form) {
  std::size_t n = 1;
  while (n < form.length && at + n < text.size()) {
    const auto byte = static_cast<std::uint8_t>(text[at + n]);
    const std::uint8_t min = n == 1 ? form.second_min : 0x80;
    const std::uint8_t max = n == 1 ? form.second_max : 0xBF;
    if (byte < min || byte > max) break;
    ++n;
  }
  return n;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text, std::size_t at) {
  const auto first = static_cast<std::uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true};
  const Lead form = lead(first);
  if (form.length == 0 || agreeing_bytes(text, at, form) < form.length) {
    return {kReplacementCharacter, 1, false};
  }
  char32_t code = first & (0x7Fu >> form.length);
  for (std::size_t i = 1; i < form.length; ++i) {
    code = (code << 6) | (static_cast<std::uint8_t>(text[at + i]) & 0x3Fu);
  }
  return {code, form.length, true};
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (!c.valid) return false;
    at += c.length;
  }
  return true;
}

std::size_t invalid_utf8(std::string_view text, std::size_t at) {
  const Lead form = lead(static_cast<std::uint8_t>(text[at]));
  return form.length == 0 ? 1 : agreeing_bytes(text, at, form);
}

void append_utf8(char32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kMark[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kMark[tail] | (code >> (6 * tail)));
  for (int i = tail - 1; i >= 0; --i) out += static_cast<char>(0x80u | ((code >> (6 * i)) & 0x3Fu));
}

std::size_t unfinished_utf8(std::string_view text) {
  const std::size_t max_bytes = std::min<std::size_t>(3, text.size());
  for (std::size_t n = 1; n <= max_bytes; ++n) {
    const std::size_t at = text.size() - n;
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if ((byte & 0xC0) == 0x80) continue;
    const Lead form = lead(byte);
    return form.length > n && agreeing_bytes(text, at, form) == n ? n : 0;
  }
  return 0;
}

}  // namespace weft

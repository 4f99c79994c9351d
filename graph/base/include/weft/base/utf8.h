#pragma once
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

struct Utf8Char {
  char32_t code = 0;       // U+FFFD for a byte that starts no character
  std::size_t length = 0;  // bytes; 1 for an invalid byte
  bool valid = false;
};

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// The character that starts at byte `at`. REQUIRES: at < text.size().
Utf8Char decode_utf8(std::string_view text, std::size_t at);

// Whether all bytes of the text are valid UTF-8.
bool is_utf8(std::string_view text);

// How many bytes at `at`, which begin no character, one U+FFFD replaces: the longest beginning of a
// character, or one byte (Unicode 3.9, "maximal subparts"; WHATWG Encoding). REQUIRES: as above.
std::size_t invalid_utf8(std::string_view text, std::size_t at);

// REQUIRES: `code` is a Unicode scalar value.
void append_utf8(char32_t code, std::string& out);

// Bytes at the end of `text` (0 to 3) that begin a character and need more bytes to complete it.
std::size_t unfinished_utf8(std::string_view text);

}  // namespace weft

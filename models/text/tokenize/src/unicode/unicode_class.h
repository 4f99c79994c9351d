#pragma once
// The classes of characters that pre-tokenizer rules speak of: Unicode general categories (from
// utf8proc), White_Space, and the one script that a rule names.

#include <cstdint>

namespace weft::tokenize {

using CharClass = std::uint16_t;  // a set of the bits below

namespace char_class {
inline constexpr CharClass kUpper = 1;            // Lu, Lt
inline constexpr CharClass kLower = 2;            // Ll
inline constexpr CharClass kOtherLetter = 4;      // Lm, Lo
inline constexpr CharClass kMark = 8;             // M
inline constexpr CharClass kNumber = 16;          // N
inline constexpr CharClass kPunctuation = 32;     // P
inline constexpr CharClass kSymbol = 64;          // S
inline constexpr CharClass kSpace = 128;          // White_Space, line ends included
inline constexpr CharClass kNewline = 256;        // CR, LF
inline constexpr CharClass kDecimal = 512;        // Nd
inline constexpr CharClass kLetterNumber = 4096;  // Nl
inline constexpr CharClass kConnector = 1024;     // Pc
inline constexpr CharClass kHan = 2048;           // script Han
inline constexpr CharClass kLetter = kUpper | kLower | kOtherLetter;
}  // namespace char_class

CharClass classify(char32_t code);

inline bool is_newline(char32_t c) {
  return c == '\r' || c == '\n';
}
inline bool is_line_feed(char32_t c) {
  return c == '\n';
}
inline bool is_ascii_digit(char32_t c) {
  return c >= '0' && c <= '9';
}

// Characters that \w matches: letters, marks, decimal digits, connectors, joiners (UTS #18).
bool is_word_char(char32_t code);

}  // namespace weft::tokenize

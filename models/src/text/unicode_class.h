#pragma once
// The classes of characters that pre-tokenizer rules speak of: Unicode general categories (from
// utf8proc) and White_Space.

#include <cstdint>

namespace weft {

using CharClass = std::uint16_t;  // a set of the bits below

namespace char_class {
inline constexpr CharClass kUpper = 1;         // Lu, Lt
inline constexpr CharClass kLower = 2;         // Ll
inline constexpr CharClass kOtherLetter = 4;   // Lm, Lo
inline constexpr CharClass kMark = 8;          // M
inline constexpr CharClass kNumber = 16;       // N
inline constexpr CharClass kPunctuation = 32;  // P
inline constexpr CharClass kSymbol = 64;       // S
inline constexpr CharClass kSpace = 128;       // White_Space, line ends included
inline constexpr CharClass kNewline = 256;     // CR, LF
inline constexpr CharClass kLetter = kUpper | kLower | kOtherLetter;
}  // namespace char_class

CharClass classify(char32_t code);

}  // namespace weft

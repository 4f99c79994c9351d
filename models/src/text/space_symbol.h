#pragma once
// How several kinds write a space in their tokens, and single bytes.

#include <string>
#include <string_view>

namespace weft {

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

// U+2581 becomes a space, and the other way round.
std::string with_spaces(std::string_view text);
std::string with_space_symbols(std::string_view text, bool prefix = false);  // one before the text

// Value of upper- or lower-case hexadecimal digits; -1 for anything else. REQUIRES: at most 7.
int hex_value(std::string_view digits);

// The byte that "<0xXX>" names; -1 for other texts.
int byte_token_value(std::string_view text);

}  // namespace weft

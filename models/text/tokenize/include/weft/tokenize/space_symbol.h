#pragma once
// How several tokenizer kinds write spaces and single bytes in their tokens.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

// Positions in a text are 32-bit: a text that grows while it is normalized must stay below this.
inline constexpr std::size_t kMaxText = std::numeric_limits<std::int32_t>::max();
// Throws ValueError if `size` exceeds `limit`, in bytes.
void check_grown_text(std::size_t size, std::size_t limit);

// Replaces U+2581 by spaces, and spaces by U+2581 (with one more before the text if `prefix`).
std::string with_spaces(std::string_view text);
std::string with_space_symbols(std::string_view text, bool prefix = false,
                               std::size_t limit = kMaxText);
void append_with_space_symbols(std::string_view text, std::string& out);  // without a limit

// Value of upper- or lower-case hexadecimal digits; -1 for anything else. REQUIRES: at most 7.
int hex_value(std::string_view digits);

// The byte that "<0xXX>" names; -1 for other texts.
int byte_token_value(std::string_view text);

}  // namespace weft

#pragma once
// How several kinds write a space in their tokens, and single bytes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

// What the places of a text are counted with goes up to here: a text that grows on its way to the
// tokens must not pass it.
inline constexpr std::size_t kMaxText = std::numeric_limits<std::int32_t>::max();
// Throws ValueError where a text has become longer than `limit` bytes.
void check_grown_text(std::size_t size, std::size_t limit);

// U+2581 becomes a space, and the other way round, with one before the text where it is asked for.
std::string with_spaces(std::string_view text);
std::string with_space_symbols(std::string_view text, bool prefix = false,
                               std::size_t limit = kMaxText);

// Value of upper- or lower-case hexadecimal digits; -1 for anything else. REQUIRES: at most 7.
int hex_value(std::string_view digits);

// The byte that "<0xXX>" names; -1 for other texts.
int byte_token_value(std::string_view text);

}  // namespace weft

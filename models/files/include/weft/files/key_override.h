#pragma once
// Values that replace those of a file's keys, or add keys, as users give them on command lines.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

struct KeyOverride {
  std::string key;  // "llama.context_length"
  std::variant<std::int64_t, double, bool, std::string> value;
};

// Throws ValueError for numbers that are not finite, and for keys about how files are laid out
// (general.alignment, split.*) or longer than a file can have.
void check(const KeyOverride& given);

// "KEY=TYPE:VALUE", several separated by commas. TYPE is int, float, bool (true, false) or str; a
// string ends at the next comma that another "KEY=TYPE:" follows. Throws ValueError for everything
// else, and like check().
std::vector<KeyOverride> parse_key_overrides(std::string_view text);

}  // namespace weft

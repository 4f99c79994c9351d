#pragma once
// Lists of numbers in flags.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::tools {

// "1,2,3". Throws ValueError "--tokens must be numbers with commas between them, got '1,,2'".
std::vector<std::int32_t> parse_list(std::string_view flag, std::string_view text);

}  // namespace weft::tools

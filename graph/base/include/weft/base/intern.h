#pragma once
// Texts that are composed at run time and live as long as the program.

#include <string_view>

namespace weft {

// The same text gives the same memory, with a NUL behind it. Any thread may call.
std::string_view intern(std::string_view text);

}  // namespace weft

#pragma once
// Row names that are composed at run time and live as long as the program.

#include <string>
#include <string_view>

namespace weft::backends {

// The same text gives the same memory. Any thread may call.
std::string_view intern(std::string text);

}  // namespace weft::backends

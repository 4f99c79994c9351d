#pragma once
// Names that nobody can guess and nobody else has.

#include <string>
#include <string_view>

namespace weft {

// `prefix` and `n` random digits and lower-case letters, from the operating system's generator. Any
// thread.
std::string random_id(std::string_view prefix, int n);

}  // namespace weft

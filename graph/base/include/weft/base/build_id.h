#pragma once
// Which build this program is.

#include <string>

namespace weft {

// The build ID that the linker gave the running program, as hexadecimal digits; empty if it gave
// none. Programs that were built from different sources or with different settings have different
// ones.
std::string build_id();

}  // namespace weft

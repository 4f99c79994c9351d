#pragma once
// Ops and architectures from shared libraries.

#include <string>

namespace weft::c_api {

// Loads a library, and calls its weft_extension_start(), unless that was done. Throws IoError if it
// cannot be loaded, UnsupportedError if it exports no such function, and what that reports.
void load_extension(const std::string& path);

}  // namespace weft::c_api

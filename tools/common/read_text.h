#pragma once
#include <string>

namespace weft::cli {

// All bytes of a file, "-" for stdin, without one newline at the end. Throws IoError, ValueError
// for more than 256 MiB.
std::string read_text(const std::string& path);

}  // namespace weft::cli

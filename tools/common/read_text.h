#pragma once
#include <string>

namespace weft::cli {

// The text of a file as from read_text_file(), without one line end (LF or CR LF) at its end.
std::string read_text(const std::string& path);

}  // namespace weft::cli

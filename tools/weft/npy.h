#pragma once
// Files of numbers that NumPy reads.

#include <cstdint>
#include <string>

namespace weft::tools {

// The header of a .npy file, version 1, of float32 [rows, cols]; the numbers follow, row by row.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(std::int64_t rows, std::int64_t cols);

}  // namespace weft::tools

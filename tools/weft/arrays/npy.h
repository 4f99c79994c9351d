#pragma once
// Files of numbers that NumPy reads.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

// The header of a .npy file, version 1, of float32 [rows, cols]; the numbers follow, row by row.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(std::int64_t rows, std::int64_t cols);

struct Matrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;  // row by row
};

// A .npy file of float32, rows one after another, with one dimension (then it is one row) or two.
// Throws IoError if the file cannot be read, FormatError if it is another kind of file.
Matrix read_npy(const std::string& path);

// A .npy file in memory, of float16, float32 or float64 in C order, versions 1 to 3, up to 8
// dimensions. Throws FormatError, naming `name`.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
Array parse_npy(std::string_view bytes, const std::string& name);

}  // namespace weft::tools

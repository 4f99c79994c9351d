#include "npy.h"

#include <fmt/format.h>

namespace weft::tools {

// Magic, version, length, and a dictionary padded so that the numbers start at a multiple of 64.
std::string npy_header(std::int64_t rows, std::int64_t cols) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  constexpr std::size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace weft::tools

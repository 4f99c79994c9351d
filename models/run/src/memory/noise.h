#pragma once
// Random numbers in place of real ones, for measuring time.

#include <cstddef>
#include <span>
#include <vector>

#include "weft/graph/dtype.h"

namespace weft::run {

// Elements of a type, between -1 and 1 and the same in every run.
class Noise {
 public:
  // Throws UnsupportedError for types that cannot be encoded.
  explicit Noise(DType dtype);
  // Continues where the last call ended. REQUIRES: whole blocks.
  void fill(std::span<std::byte> bytes);

 private:
  std::vector<std::byte> encoded_;  // used repeatedly
  std::size_t next_ = 0;
};

}  // namespace weft::run

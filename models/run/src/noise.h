#pragma once
// Numbers that stand for real ones if only the time matters.

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
  // Goes on where the last call ended. REQUIRES: whole blocks.
  void fill(std::span<std::byte> bytes);

 private:
  std::vector<std::byte> encoded_;  // comes again and again
  std::size_t next_ = 0;
};

}  // namespace weft::run

#pragma once
// Rows of one type to rows of another, by way of f32.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/ops/formats/format.h"

namespace weft::quantize {

// Which weight is not finite, or cannot be written.
struct BadWeight {
  std::int64_t index = -1;  // among those that were given; none: -1
  float value = 0;
  bool found() const { return index >= 0; }
};

// Throws FormatError "FILE: tensor 'x' holds nan at element 7 (row 0, column 7): ...". `bad` counts
// from row `first_row` of the tensor, which was to become `to`.
[[noreturn]] void refuse(std::string_view file, const CheckpointTensor& tensor, DType to,
                         std::int64_t first_row, const BadWeight& bad);

// Has its own room for a few rows: one object per thread.
class RowConverter {
 public:
  // Writes `n_rows` rows of `n_cols` to `out`. `importance` [n_cols] weighs errors where the format
  // can; may be null where the format can do without. Weights that are not finite are written as 0
  // where `zero` says so; else the first of them is returned, as is one that F16 cannot hold, and
  // what was written does not matter.
  BadWeight convert(const Format& from, const Format& to, const std::byte* in, std::byte* out,
                    std::int64_t n_rows, std::int64_t n_cols, const float* importance, bool zero);

 private:
  std::vector<float> values_;
};

// The first weight that is not finite.
BadWeight find_nonfinite(const Format& format, const std::byte* in, std::int64_t n_elems);

}  // namespace weft::quantize

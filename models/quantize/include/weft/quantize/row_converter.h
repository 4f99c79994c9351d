#pragma once
// Converts rows of one type to another through f32.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/ops/formats/format.h"

namespace weft::quantize {

// A weight that is not finite, or that the target type cannot hold.
struct BadWeight {
  std::int64_t index = -1;  // within the input; -1: none
  float value = 0;
  bool found() const { return index >= 0; }
};

// Throws FormatError "FILE: tensor 'x' holds nan at element 7 (row 0, column 7): ...". `bad` counts
// from row `first_row` of the tensor, which is being converted to `to`.
[[noreturn]] void refuse(std::string_view file, const CheckpointTensor& tensor, DType to,
                         std::int64_t first_row, const BadWeight& bad);

// Has a buffer for a few rows: use one object per thread.
class RowConverter {
 public:
  // Writes `n_rows` rows of `n_cols` to `out`. `importance` [n_cols] weights the errors if the
  // format supports that; it may be null if the format does not require it. If `zero` is set,
  // weights that are not finite are written as 0. Otherwise the first of them is returned, as is
  // one that F16 cannot hold, and the contents of `out` are unspecified.
  BadWeight convert(const Format& from, const Format& to, const std::byte* in, std::byte* out,
                    std::int64_t n_rows, std::int64_t n_cols, const float* importance, bool zero);

 private:
  std::vector<float> values_;
};

// The first weight that is not finite.
BadWeight find_nonfinite(const Format& format, const std::byte* in, std::int64_t n_elems);

}  // namespace weft::quantize

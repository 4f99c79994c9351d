#pragma once
// How the rows of a matrix lie in memory when a backend's kernels want them in an order of their
// own. Such a layout makes types: "Q4_K_R16" has the rows of Q4_K in 16 rows side by side. A tensor
// of it takes as many bytes as one of DType::plain(). No file holds such types. Backends declare
// them (Backend::layouts()); whoever fills, reads or checks tensors asks the type.

#include <cstddef>
#include <cstdint>

#include "weft/graph/dtype.h"
#include "weft/graph/view.h"

namespace weft {

struct RowLayout {
  // pack() can begin at multiples of this many rows.
  std::int64_t granule = 1;

  // Writes rows [first, last) of a tensor in the plain type, of `n_rows` rows of `row_bytes` each,
  // to where they belong in a tensor of `type` at `to`. The memory may not overlap. Different
  // threads may write different rows of one tensor. REQUIRES: `first` is a multiple of `granule`,
  // and so is `last` or it is n_rows.
  void (*pack)(DType type, const std::byte* from, std::byte* to, std::int64_t n_rows,
               std::int64_t row_bytes, std::int64_t first, std::int64_t last) noexcept = nullptr;

  // Row `r` of a tensor in the plain type. REQUIRES: `row` has room for the bytes of a row.
  void (*read_row)(const View& tensor, std::int64_t r, std::byte* row) noexcept = nullptr;
};

}  // namespace weft

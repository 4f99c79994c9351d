#pragma once
// How the rows of a matrix are stored in memory if a backend's kernels need their own order. Every
// such layout has its own types: "Q4_K_R16" stores rows of Q4_K interleaved by 16. A tensor of one
// of them has the same size as one of DType::plain(). No file holds these types. Backends declare
// them (Backend::layouts()); code that fills, reads or checks tensors finds the layout in the type.
//
// A tensor [X, N, K] is X matrices in this order, stored like one matrix [X * N, K]. N is a
// multiple of the granule.

#include <cstddef>
#include <cstdint>

#include "weft/graph/dtype.h"
#include "weft/graph/view.h"

namespace weft {

struct RowLayout {
  // pack() can start at multiples of this many rows.
  std::int64_t granule = 1;

  // Copies rows [first, last), of K elements each, of the tensor `from` into the tensor `to`.
  // `from` is of the plain type and has `n_rows` rows of `row_bytes` bytes; `to` is of `type`. The
  // two must not overlap. Several threads may write different rows of one tensor. REQUIRES: `first`
  // is a multiple of `granule`; `last` is one too, or equals n_rows.
  void (*pack)(DType type, const std::byte* from, std::byte* to, std::int64_t n_rows,
               std::int64_t row_bytes, std::int64_t first, std::int64_t last) noexcept = nullptr;

  // Copies row `r` of a view (View::row; of a tensor [X, N, K] a whole matrix) to `row`, in the
  // plain type. REQUIRES: `row` has room for it.
  void (*read_row)(const View& tensor, std::int64_t r, std::byte* row) noexcept = nullptr;
};

}  // namespace weft

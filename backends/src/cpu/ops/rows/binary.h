#pragma once
// add and mul: b is like a, or is repeated along its rows (ops/src/elementwise/broadcast.h).

#include <algorithm>

#include "cpu/cpu_ops.h"
#include "cpu/ops/rows/elementwise_rows.h"

namespace weft::cpu {

template <class F>
void binary(const KernelArgs& args, const Region& region, F f) noexcept {
  const View &a = args.in[0], &b = args.in[1];
  const bool same = a.n_dims == b.n_dims && a.dims == b.dims;
  const std::int64_t d = a.dim(-1);
  const bool one = b.cols() == 1;  // for every group of d
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    if (same) {
      f(floats(a, r, region.col0), floats(b, r, region.col0), floats(args.out, r, region.col0),
        region.col1 - region.col0);
      continue;
    }
    for (std::int64_t c = region.col0; c < region.col1;) {
      const std::int64_t from = one ? 0 : c % d;
      const std::int64_t n = one ? 1 : std::min(d - from, region.col1 - c);
      f(floats(a, r, c), floats(b, c / d % b.rows(), from), floats(args.out, r, c), n);
      c += n;
    }
  }
}

inline constexpr std::int64_t kElementwiseGranule = 16;

}  // namespace weft::cpu

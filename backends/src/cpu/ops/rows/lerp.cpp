#include "weft/ops/elementwise/lerp.h"

#include <algorithm>

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

// Head by head: the weights of a head, or of all heads, may be shared, and so may a and b.
template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto lerp_row = elementwise<Arch>().lerp;
  const View &a = args.in[0], &b = args.in[1], &w = args.in[2];
  const std::int64_t d = args.out.dim(-1), width = a.cols();
  const bool by_row = w.n_dims == args.out.n_dims;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t c = region.col0; c < region.col1;) {
      const std::int64_t h = c / d, end = std::min((h + 1) * d, region.col1);
      const float* weights = by_row ? floats(w, r, c) : floats(w, w.n_dims == 2 ? h : 0, c - h * d);
      lerp_row(floats(a, r, c % width), floats(b, r, c % width), weights, floats(args.out, r, c),
               end - c);
      c = end;
    }
  }
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("lerp", kRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuLerp{&kLerp, find};

}  // namespace weft::cpu

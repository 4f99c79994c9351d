#include "weft/ops/positions/rope.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernels/rows/rope.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &angles = args.in[1], &out = args.out;
  static const RopeKernels kKernels = Rope<Arch>::run();
  const bool adjacent = args.attrs->as<RopeApplyAttrs>().pairs == RopePairs::adjacent;
  const auto rotate = adjacent ? kKernels.adjacent : kKernels.halves;
  RopeArgs a{.e = x.dim(-1), .n_rot = angles.cols()};
  a.n_heads = (region.col1 - region.col0) / a.e;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    a.x = floats(x, t, region.col0);
    a.y = floats(out, t, region.col0);
    a.angles = angles.row<const float>(t);
    rotate(a);
  }
}

constexpr auto kRows = rows_of<Rope>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
  return with_row("rope", kRows, has, {.granule = node.spec.shape.last()});
}

}  // namespace

extern const CpuOp kCpuRope{&kRope, find};

}  // namespace weft::cpu

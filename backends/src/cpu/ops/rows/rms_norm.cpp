// rms_norm and rms_norm_mul: one kernel, with and without a weight.

#include "weft/ops/norms/rms_norm.h"

#include "weft/ops/norms/rms_norm_mul.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernels/rows/rms_norm.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const float eps = args.attrs->as<RmsNormAttrs>().eps;
  const float* w = args.in.size() > 1 ? args.in[1].row<const float>(0) : nullptr;
  const std::int64_t d = args.out.dim(-1);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t c = region.col0; c < region.col1; c += d) {
      RmsNorm<Arch>::run(floats(args.in[0], r, c), w, floats(args.out, r, c), d, eps);
    }
  }
}

constexpr auto kRows = rows_of<RmsNorm>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
  return with_row(node.op->name, kRows, has, {.granule = node.spec.shape.last()});
}

}  // namespace

extern const CpuOp kCpuRmsNorm{&kRmsNorm, find};
extern const CpuOp kCpuRmsNormMul{&kRmsNormMul, find};

}  // namespace weft::cpu

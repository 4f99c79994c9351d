// rms_norm and rms_norm_mul: one kernel, with and without a weight.

#include "weft/ops/rms_norm.h"

#include "weft/ops/rms_norm_mul.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/rms_norm.h"

namespace weft::cpu {
namespace {

constexpr auto kRows = float_rows<RmsNorm>();

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const float eps = args.attrs->as<RmsNormAttrs>().eps;
  const float* w = args.in.size() > 1 ? args.in[1].row<const float>(0) : nullptr;
  const std::int64_t d = args.out.dim(-1);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    for (std::int64_t c = region.col0; c < region.col1; c += d) {
      best_row(kRows, kIsa).run(floats(args.in[0], r, c), w, floats(args.out, r, c), d, eps);
    }
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  return Kernel{.row = row_name(node.op->name, best_row(kRows, isa).isa),
                .run = at(kRun, isa),
                .granule = node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuRmsNorm{&kRmsNorm, find};
extern const CpuOp kCpuRmsNormMul{&kRmsNormMul, find};

}  // namespace weft::cpu

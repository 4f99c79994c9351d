#include "weft/ops/recurrent/recurrence.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

// Bound by memory, so plain loops suffice. They give the same bits on every instruction set.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &a = args.in[0], &x = args.in[1], &state = args.in[2];
  const auto* from = args.in[3].row<const std::int32_t>(0);
  const auto* before = args.in[4].row<const std::int32_t>(0);
  const std::int64_t n = region.col1 - region.col0;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    const float* const h = before[t] >= 0 ? floats(args.out, before[t], region.col0)
                           : from[t] >= 0 ? floats(state, from[t], region.col0)
                                          : nullptr;
    const float *at = floats(a, t, region.col0), *xt = floats(x, t, region.col0);
    float* const y = floats(args.out, t, region.col0);
    for (std::int64_t i = 0; i < n; ++i) y[i] = at[i] * (h ? h[i] : 0.0f) + xt[i];
  }
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "recurrence f32", .run = run};
}

}  // namespace

extern const CpuOp kCpuRecurrence{&kRecurrence, find};

}  // namespace weft::cpu

#include "weft/ops/recurrent/token_shift.h"

#include <algorithm>

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

// Copies. Rows that are written are not read, so the order of the tokens does not matter.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &state = args.in[1];
  const auto* from = args.in[2].row<const std::int32_t>(0);
  const auto* before = args.in[3].row<const std::int32_t>(0);
  const auto* to = args.in[4].row<const std::int32_t>(0);
  const std::int64_t n = region.col1 - region.col0;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    float* const y = floats(args.out, t, region.col0);
    if (before[t] >= 0) {
      std::copy_n(floats(x, before[t], region.col0), n, y);
    } else if (from[t] >= 0) {
      std::copy_n(floats(state, from[t], region.col0), n, y);
    } else {
      std::fill_n(y, n, 0.0f);
    }
    if (to[t] >= 0) std::copy_n(floats(x, t, region.col0), n, floats(state, to[t], region.col0));
  }
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "token_shift f32 copy", .run = run};
}

}  // namespace

extern const CpuOp kCpuTokenShift{&kTokenShift, find};

}  // namespace weft::cpu

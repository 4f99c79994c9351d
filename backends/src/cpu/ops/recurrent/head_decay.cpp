// A few exponentials per step, the same for every token: computed once, in double as by the
// definition, and copied.

#include "weft/ops/recurrent/head_decay.h"

#include <algorithm>

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  if (region.empty()) return;
  float* const first = floats(args.out, region.row0, region.col0);
  const std::int64_t n = region.col1 - region.col0;
  for (std::int64_t i = 0; i < n; ++i)
    first[i] = head_decay_factor(args.attrs->as<HeadDecayAttrs>(), region.col0 + i);
  for (std::int64_t t = region.row0 + 1; t < region.row1; ++t)
    std::copy_n(first, n, floats(args.out, t, region.col0));
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "head_decay scalar", .run = run};
}

}  // namespace

extern const CpuOp kCpuHeadDecay{&kHeadDecay, find};

}  // namespace weft::cpu

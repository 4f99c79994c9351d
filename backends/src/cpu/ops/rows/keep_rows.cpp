#include "weft/ops/rows/keep_rows.h"

#include <algorithm>

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

// The region's rows are rows of the state. Other lanes write the remaining ones.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View& x = args.in[1];
  const auto* rows = args.in[2].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    if (rows[t] < region.row0 || rows[t] >= region.row1) continue;
    std::copy_n(floats(x, t, region.col0), region.col1 - region.col0,
                floats(args.out, rows[t], region.col0));
  }
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "keep_rows f32 copy", .run = run};
}

}  // namespace

extern const CpuOp kCpuKeepRows{&kKeepRows, find};

}  // namespace weft::cpu

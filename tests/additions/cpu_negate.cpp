#include "weft/ops/elementwise/negate.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernels/rows/negate.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const NegateKernel negate = Negate<Arch>::run();
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    negate(floats(args.in[0], r, region.col0), floats(args.out, r, region.col0),
           region.col1 - region.col0);
  }
}

constexpr auto kRows = rows_of<Negate>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("negate", kRows, has, {.granule = 16});
}

}  // namespace

extern const CpuOp kCpuNegate{&kNegate, find};

}  // namespace weft::cpu

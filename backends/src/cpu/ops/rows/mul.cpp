#include "weft/ops/elementwise/mul.h"

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  binary(args, region, elementwise<Arch>().mul);
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("mul", kRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuMul{&kMul, find};

}  // namespace weft::cpu

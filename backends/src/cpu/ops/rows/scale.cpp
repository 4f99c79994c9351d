#include "weft/ops/elementwise/scale.h"

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto scale_row = elementwise<Arch>().scale;
  const float factor = args.attrs->as<ScaleAttrs>().factor;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    scale_row(floats(args.in[0], r, region.col0), factor, floats(args.out, r, region.col0),
              region.col1 - region.col0);
  }
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("scale", kRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuScale{&kScale, find};

}  // namespace weft::cpu

#include "weft/ops/projections/quantize.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernels/rows/quantize.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kBlock = 32;

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View& out = args.out;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    Quantize<Arch>::run(floats(args.in[0], r, region.col0),
                        out.row<std::byte>(r) + out.dtype.bytes(region.col0),
                        (region.col1 - region.col0) / kBlock);
  }
}

constexpr auto kRows = rows_of<Quantize>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("quantize f32 q8a", kRows, has, {.granule = kBlock});
}

}  // namespace

extern const CpuOp kCpuQuantize{&kQuantize, find};

}  // namespace weft::cpu

// silu, and silu_mul.

#include "weft/ops/elementwise/silu.h"

#include "weft/ops/elementwise/silu_mul.h"

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto silu_row = elementwise<Arch>().silu;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    silu_row(floats(args.in[0], r, region.col0), floats(args.out, r, region.col0),
             region.col1 - region.col0);
  }
}

template <class Arch>
void run_mul(const KernelArgs& args, const Region& region) noexcept {
  binary(args, region, elementwise<Arch>().silu_mul);
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });
constexpr auto kMulRows =
    rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run_mul<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("silu", kRows, has, {.granule = kElementwiseGranule});
}

std::optional<Kernel> find_mul(FeatureSet has, const Graph&, const Node&) {
  return with_row("silu_mul", kMulRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuSilu{&kSilu, find};
extern const CpuOp kCpuSiluMul{&kSiluMul, find_mul};

}  // namespace weft::cpu

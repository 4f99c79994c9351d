#include "weft/ops/silu.h"

#include "cpu/ops/binary.h"

namespace weft::cpu {
namespace {

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto silu_row = elementwise<kIsa>().silu;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    silu_row(floats(args.in[0], r, region.col0), floats(args.out, r, region.col0),
             region.col1 - region.col0);
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node&) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  return elementwise_kernel("silu", isa, kRun);
}

}  // namespace

extern const CpuOp kCpuSilu{&kSilu, find};

}  // namespace weft::cpu

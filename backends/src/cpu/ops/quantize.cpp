#include "weft/ops/quantize.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/quantize.h"

namespace weft::cpu {
namespace {

constexpr auto kRows = float_rows<Quantize>();
constexpr std::int64_t kBlock = 32;

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View& out = args.out;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    best_row(kRows, kIsa)
        .run(floats(args.in[0], r, region.col0),
             out.row<std::byte>(r) + out.dtype.bytes(region.col0),
             (region.col1 - region.col0) / kBlock);
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node&) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  return Kernel{.row = row_name("quantize f32 q8a", best_row(kRows, isa).isa),
                .run = at(kRun, isa),
                .granule = kBlock};
}

}  // namespace

extern const CpuOp kCpuQuantize{&kQuantize, find};

}  // namespace weft::cpu

#include "weft/ops/cache_write.h"

#include <cstring>

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/to_f16.h"

namespace weft::cpu {
namespace {

constexpr auto kRows = float_rows<ToF16>();

// The region's rows are rows of the state: cells outside it are left to others.
template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[1], &out = args.out;
  const std::int32_t* cells = args.in[2].row<const std::int32_t>(0);
  const std::int64_t n = region.col1 - region.col0;
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    if (cells[t] < region.row0 || cells[t] >= region.row1) continue;
    const float* from = floats(x, t, region.col0);
    std::byte* to = out.row<std::byte>(cells[t]) + out.dtype.bytes(region.col0);
    if (out.dtype == f16) {
      best_row(kRows, kIsa).run(from, to, n);
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    }
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  const bool half = node.spec.dtype == f16;
  return Kernel{
      .row = half ? row_name("cache_write f16", best_row(kRows, isa).isa) : "cache_write f32 copy",
      .run = at(kRun, isa),
      .granule = node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuCacheWrite{&kCacheWrite, find};

}  // namespace weft::cpu

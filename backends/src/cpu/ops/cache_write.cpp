#include "weft/ops/cache_write.h"

#include "weft/ops/cache_cells.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/to_f16.h"

namespace weft::cpu {
namespace {

// The region's rows are blocks of the state, its columns whole groups: cells outside it are left to
// others.
template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[1], &out = args.out;
  const std::int32_t* cells = args.in[2].row<const std::int32_t>(0);
  const CellWriter write = find_cache_kernels(out.dtype)->writer(kIsa);
  const std::int64_t e = x.dim(-1), part = kCellsPerBlock * e;
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    const std::int64_t block = cells[t] / kCellsPerBlock;
    if (block < region.row0 || block >= region.row1) continue;
    for (std::int64_t g = region.col0 / part; g < region.col1 / part; ++g)
      write(floats(x, t, g * e), cell_at(out, cells[t], g), e);
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  const CacheKernels* kernels = find_cache_kernels(node.spec.dtype);
  if (!kernels) return std::nullopt;
  // All writers but the copy are floats' rows.
  static constexpr auto kRows = float_rows<ToF16>();
  const std::string what = fmt::format("cache_write {}", kernels->name);
  return Kernel{.row = node.spec.dtype == f32 ? "cache_write f32 copy"
                                              : row_name(what, best_row(kRows, isa).isa),
                .run = at(kRun, isa),
                .granule = kCellsPerBlock * node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuCacheWrite{&kCacheWrite, find};

}  // namespace weft::cpu

#include "weft/ops/attention/cache_write.h"

#include <fmt/format.h>

#include "weft/ops/attention/cache_cells.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

struct Writer : PreparedKernel {
  CellWriter write = nullptr;
};

// The region's rows are blocks of the state, its columns whole groups. Other lanes write the cells
// outside it.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[1], &out = args.out;
  const std::int32_t* cells = args.in[2].row<const std::int32_t>(0);
  const CellWriter write = static_cast<const Writer*>(args.prepared)->write;
  const std::int64_t e = x.dim(-1), part = kCellsPerBlock * e;
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    const std::int64_t block = cells[t] / kCellsPerBlock;
    if (cells[t] < 0 || block < region.row0 || block >= region.row1) continue;
    for (std::int64_t g = region.col0 / part; g < region.col1 / part; ++g)
      write(floats(x, t, g * e), cell_at(out, cells[t], g), e);
  }
}

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
  const CacheKernels* kernels = find_cache_kernels(node.spec.dtype);
  const auto* writer = kernels ? first_fit(kernels->writers, has) : nullptr;
  if (!writer) return std::nullopt;
  return Kernel{.row = row_name(fmt::format("cache_write {}", kernels->name), *writer->isa),
                .run = run,
                .granule = kCellsPerBlock * node.spec.shape.last()};
}

std::unique_ptr<PreparedKernel> prepare(const Machine& machine, const Graph&, const Node& node) {
  auto writer = std::make_unique<Writer>();
  writer->write = first_fit(find_cache_kernels(node.spec.dtype)->writers, machine.features)->run();
  return writer;
}

}  // namespace

extern const CpuOp kCpuCacheWrite{&kCacheWrite, find, prepare};

}  // namespace weft::cpu

#include "weft/ops/cache_write.h"

#include <cstring>

#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/to_blocks.h"
#include "cpu/kernels/to_f16.h"

namespace weft::cpu {
namespace {

constexpr auto kHalfRows = float_rows<ToF16>();
constexpr auto kBlockRows = float_rows<ToBlocks>();

template <Isa kIsa>
void write(DType dtype, const float* x, std::byte* y, std::int64_t n) {
  if (dtype == f16) return best_row(kHalfRows, kIsa).run(x, y, n);
  if (dtype == f32) {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  const ToBlocksKernels kernels = best_row(kBlockRows, kIsa).run();
  (dtype == q8_0 ? kernels.q8_0 : kernels.q4_0)(x, y, n / dtype.block_elems());
}

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
    write<kIsa>(out.dtype, from, to, n);
  }
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  const DType dtype = node.spec.dtype;
  const char* what = dtype == f32    ? "cache_write f32"
                     : dtype == f16  ? "cache_write f16"
                     : dtype == q8_0 ? "cache_write q8_0"
                     : dtype == q4_0 ? "cache_write q4_0"
                                     : nullptr;
  if (!what) return std::nullopt;
  const Isa used = dtype == f16 ? best_row(kHalfRows, isa).isa : best_row(kBlockRows, isa).isa;
  return Kernel{.row = dtype == f32 ? "cache_write f32 copy" : row_name(what, used),
                .run = at(kRun, isa),
                .granule = node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuCacheWrite{&kCacheWrite, find};

}  // namespace weft::cpu

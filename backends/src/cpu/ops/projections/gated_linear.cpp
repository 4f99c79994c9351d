// Computes the gate and up projections into scratch, one block of tokens and columns at a time,
// and combines them. A block has the tokens that one pass over the weights serves. Blocks of few
// tokens are wide: kernels prefetch only weights of their own columns, so every block starts with
// weights that were not prefetched.

#include "weft/ops/projections/gated_linear.h"

#include <algorithm>

#include "weft/backends/memory.h"

#include "cpu/ops/projections/projection.h"
#include "cpu/ops/rows/elementwise_rows.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kMinCols = 64, kMaxCols = 1024;

// The columns of a block with that many tokens.
std::int64_t block_cols(std::int64_t rows) {
  return std::max(kMinCols, kMaxCols / std::max<std::int64_t>(rows, 1) / kMinCols * kMinCols);
}

// Bytes of one of the two parts of a block with at most that many tokens.
std::int64_t part_bytes(std::int64_t rows) {
  return align_up(std::max(rows * kMinCols, kMaxCols) * static_cast<std::int64_t>(sizeof(float)));
}

template <class Arch>
void run_block(const KernelArgs& args, const Region& block) noexcept {
  const View& x = args.in[0];
  const std::int64_t rows = block.row1 - block.row0, stride = block_cols(rows);
  const std::int64_t part = part_bytes(rows);
  std::byte* parts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const View& w = args.in[1 + i];
    parts[i] = args.scratch.data() + static_cast<std::int64_t>(i) * part;
    LinearArgs a = projection_args(x, w, args.scratch.subspan(static_cast<std::size_t>(2 * part)));
    a.x += block.row0 * a.x_stride;
    a.y = parts[i];
    a.y_stride = stride * static_cast<std::int64_t>(sizeof(float));
    a.y_col = block.col0;
    a.row1 = rows;
    a.col0 = block.col0;
    a.col1 = block.col1;
    project(ProjectionRows::of(args)[i], x, w, a);
  }
  const auto combine = elementwise<Arch>().silu_mul;
  for (std::int64_t t = block.row0; t < block.row1; ++t) {
    const std::int64_t at = (t - block.row0) * stride;
    combine(reinterpret_cast<const float*>(parts[0]) + at,
            reinterpret_cast<const float*>(parts[1]) + at, floats(args.out, t, block.col0),
            block.col1 - block.col0);
  }
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const std::int64_t cols = block_cols(region.row1 - region.row0);
  for (std::int64_t c = region.col0; c < region.col1; c += cols) {
    for (std::int64_t t = region.row0; t < region.row1; t += kPanelTokens) {
      run_block<Arch>(
          args, {t, std::min(t + kPanelTokens, region.row1), c, std::min(c + cols, region.col1)});
    }
  }
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  if (node.attrs.as<GatedLinearAttrs>().act != Activation::silu) return std::nullopt;
  auto kernel = projection_kernel("gated_linear", in[0], std::span(in).subspan(1), has);
  const auto* combine = first_fit(kRows, has);
  if (!kernel || !combine) return std::nullopt;
  kernel->run = combine->run;
  kernel->token_tiles.push_back(kPanelTokens);  // the tile of run()
  kernel->scratch_bytes += 2 * part_bytes(std::min(in[0].shape.rows().bound, kPanelTokens));
  return kernel;
}

}  // namespace

extern const CpuOp kCpuGatedLinear{&kGatedLinear, find, prepare_projection};

}  // namespace weft::cpu

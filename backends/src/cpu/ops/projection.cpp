#include "cpu/ops/projection.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "weft/base/text.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections.h"

#include "cpu/panels.h"

namespace weft::cpu {

namespace {

// Kernel::token_tiles of the kernels in kernels/linear_*.inl.h, for every instruction set: tokens
// whose sums stay in registers, tokens for which weights are decoded on the fly, and a block.
std::vector<std::int64_t> token_tiles(DType x) {
  if (x == q8a) return {4, 12, 16, kPanelTokens};
  return {3, 4, 12, 32, kPanelTokens};
}

}  // namespace

WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, FeatureSet has) {
  const DType plain = w.dtype.plain();
  const WeightRow row = find_weight_row(plain, has);
  if (!row || (in_panels(w.dtype) && !has_panel_row(x.dtype, plain, has))) return {};
  const bool fits = x.dtype == q8a ? row.kernels.from_q8a != nullptr : x.dtype == f32;
  return fits ? row : WeightRow{};
}

WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, const Machine& machine) {
  WeightRow row = projection_row(x, w, machine.features);
  row.prefetch = machine.choices.prefetch(w.dtype.plain());
  return row;
}

std::optional<Kernel> projection_kernel(std::string_view op, const TensorSpec& x,
                                        std::span<const TensorSpec> weights, FeatureSet has) {
  std::vector<std::string> names;
  const InstructionSet* used = nullptr;
  std::int64_t scratch = kDecodedPiece;
  for (const TensorSpec& w : weights) {
    const WeightRow row = projection_row(x, w, has);
    if (!row) return std::nullopt;
    if (x.dtype == q8a || row.kernels.panels_from_f32)
      scratch = projection_scratch(x.shape.rows().bound);
    const std::string name = to_lower(w.dtype.name());
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    used = std::max(used, row.isa);  // pointers into the one list
  }
  const std::string what =
      fmt::format("{} {} x {}", op, to_lower(x.dtype.name()), fmt::join(names, "+"));
  return Kernel{.row = row_name(what, *used),
                .scratch_bytes = scratch,
                .granule = kProjectionGranule,
                .token_tiles = token_tiles(x.dtype)};
}

std::unique_ptr<PreparedKernel> prepare_projection(const Machine& machine, const Graph& graph,
                                                   const Node& node) {
  auto rows = std::make_unique<ProjectionRows>();
  for (const NodeId w : projection_weights(node))
    rows->weights.push_back(projection_row(graph[node.inputs[0]].spec, graph[w].spec, machine));
  return rows;
}

LinearArgs projection_args(const View& x, const View& w, std::span<std::byte> scratch) {
  return {.x = x.data,
          .x_stride = x.row_stride,
          .w = w.data,
          .w_stride = w.row_stride,
          .k = x.cols(),
          .scratch = scratch.data()};
}

void project(const WeightRow& row, const View& x, const View& w, const LinearArgs& args) noexcept {
  const WeightKernels& kernels = row.kernels;
  LinearArgs rest = args;  // the columns that are not in panels
  if (row.decoder) {
    rest.decode = row.decoder->decode;
    rest.block_elems = w.dtype.block_elems();
    rest.block_bytes = w.dtype.block_bytes();
  }
  if (in_panels(w.dtype)) {
    LinearArgs panels = args;
    const bool one_token = args.row1 - args.row0 == 1;
    panels.ahead = one_token ? row.prefetch.one_token : row.prefetch.several;
    panels.col1 = std::min(args.col1, w.rows() / kPanelRows * kPanelRows);
    rest.col0 = std::max(args.col0, panels.col1);
    if (panels.col0 < panels.col1)
      (x.dtype == f32 ? kernels.panels_from_f32 : kernels.panels_from_q8a)(panels);
  }
  if (rest.col0 < rest.col1) (x.dtype == f32 ? kernels.from_f32 : kernels.from_q8a)(rest);
}

}  // namespace weft::cpu

#include "cpu/ops/projections/projection.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/ranges.h>

#include "weft/base/text.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/projections.h"

#include "cpu/isa_table.h"
#include "cpu/panels.h"

namespace weft::cpu {

namespace {

// The kernels for the columns of a matrix that are in panels, and for the others.
const LinearKernel& for_panels(const WeightKernels& kernels, DType x) {
  return x == f32 ? kernels.panels_from_f32 : kernels.panels_from_q8a;
}
const LinearKernel& for_rows(const WeightKernels& kernels, DType x) {
  return x == f32 ? kernels.from_f32 : kernels.from_q8a;
}
std::int64_t cols_in_panels(DType w, std::int64_t n_cols) {
  return in_panels(w) ? n_cols / kPanelRows * kPanelRows : 0;
}

// The index of a row's set, in the order of preference: best first.
std::size_t index_of(const InstructionSet& set) {
  return static_cast<std::size_t>(&set - kInstructionSets.data());
}

void add_tiles(const TokenTiles& tiles, std::set<std::int64_t>& all) {
  for (const std::int64_t n : {tiles.tile, tiles.few, tiles.few_tile, tiles.block}) {
    if (n > 1) all.insert(n);
  }
}

// Adds the token tiles of the kernels that multiply x by w.
void add_tiles(const WeightKernels& kernels, DType x, const TensorSpec& w,
               std::set<std::int64_t>& all) {
  const std::int64_t n_cols = w.shape[w.shape.n_dims() - 2].bound;
  const std::int64_t n_packed = cols_in_panels(w.dtype, n_cols);
  if (n_packed > 0) add_tiles(for_panels(kernels, x).tiles, all);
  if (n_packed < n_cols) add_tiles(for_rows(kernels, x).tiles, all);
}

}  // namespace

WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, FeatureSet has) {
  const DType plain = w.dtype.plain();
  const WeightRow row = find_weight_row(plain, has);
  if (!row || (in_panels(w.dtype) && !has_panel_row(x.dtype, plain, has))) return {};
  const bool fits = x.dtype == q8a ? bool(row.kernels.from_q8a) : x.dtype == f32;
  return fits ? row : WeightRow{};
}

WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, const Machine& machine) {
  WeightRow row = projection_row(x, w, machine.features);
  row.prefetch = machine.tuning.prefetch(w.dtype.plain());
  return row;
}

std::optional<Kernel> projection_kernel(std::string_view op, const TensorSpec& x,
                                        std::span<const TensorSpec> weights, FeatureSet has) {
  std::vector<std::string> names;
  std::set<std::int64_t> tiles;
  std::size_t worst = 0;  // index of the least preferred instruction set among the rows
  std::int64_t scratch = kDecodedPiece;
  for (const TensorSpec& w : weights) {
    const WeightRow row = projection_row(x, w, has);
    if (!row) return std::nullopt;
    if (x.dtype == q8a || row.kernels.panels_from_f32)
      scratch = projection_scratch(x.shape.rows().bound);
    const std::string name = to_lower(w.dtype.name());
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    worst = std::max(worst, index_of(*row.isa));
    add_tiles(row.kernels, x.dtype, w, tiles);
  }
  const std::string what =
      fmt::format("{} {} x {}", op, to_lower(x.dtype.name()), fmt::join(names, "+"));
  return Kernel{.row = row_name(what, kInstructionSets[worst]),
                .scratch_bytes = scratch,
                .granule = kProjectionGranule,
                .token_tiles = {tiles.begin(), tiles.end()}};
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
    panels.col1 = std::min(args.col1, cols_in_panels(w.dtype, w.rows()));
    rest.col0 = std::max(args.col0, panels.col1);
    if (panels.col0 < panels.col1) for_panels(kernels, x.dtype).run(panels);
  }
  if (rest.col0 < rest.col1) for_rows(kernels, x.dtype).run(rest);
}

}  // namespace weft::cpu

#include "weft/ops/attention/cache_write.h"

#include "weft/ops/attention/cache_cells.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &state = in[0], &x = in[1], &cells = in[2];
  expect_cache("state", state);
  expect_dtype("x", x, f32);
  const Shape &s = state.shape, &n = x.shape;
  const bool fits = n.n_dims() == 3 && n[1] == s[1] && n[2] == s[3];
  expect_form(fits, "x", x, "[T, {}, {}]", s[1].bound, s[3].bound);
  expect_dtype("cells", cells, i32);
  expect_shape("cells", cells, {n[0]});
  return state;
}

void reference(const Attrs&, Views in, View out) {
  const View& x = in[1];
  const std::int32_t* cells = in[2].row<const std::int32_t>(0);
  const Format* format = find_format(out.dtype);
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    if (cells[t] < 0) continue;
    for (std::int64_t g = 0; g < x.dim(1); ++g)
      format->encode(x.row<const float>(t) + g * x.dim(2), cell_at(out, cells[t], g), x.dim(2));
  }
}

// Counts only the cells of the step, not the whole state.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n_cells = elems_at(in[2], extents);
  return {.bytes_read = bytes_at(in[1], extents) + bytes_at(in[2], extents),
          .bytes_written = n_cells * cell_bytes(out)};
}

std::int64_t granule(const Attrs&, Specs, const TensorSpec& out) {
  return kCellsPerBlock * out.shape.last();
}

ColRange map_cols(const Attrs&, Specs, int index, ColRange out) {
  return index == 0 ? out : ColRange{out.begin / kCellsPerBlock, out.end / kCellsPerBlock};
}

// The rows' heads go to the state's.
Cuts cut_heads(const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
  return cut.axis == 1 ? Cuts({cut, cut, Cut{}}) : std::nullopt;
}

constexpr OpInput kInputs[] = {{"state"}, {"x", Reach::col}, {"cells", Reach::all}};

}  // namespace

// Rows are not split: the output has B of them, the work T.
const OpDef kCacheWrite{.name = "cache_write",
                        .inputs = kInputs,
                        .infer = infer,
                        .reference = reference,
                        .bound = exact,
                        .cost = cost,
                        .col_granule = granule,
                        .map_cols = map_cols,
                        .splits_rows = false,
                        .storage = Storage::state,
                        .cuts = {.inputs = cut_heads}};

Tensor cache_write(Tensor state, Tensor x, Tensor cells, SourceLine where) {
  return add_node(kCacheWrite, {state, x, cells}, {}, where);
}

}  // namespace weft

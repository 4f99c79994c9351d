#include "weft/ops/rows/views.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer_reshape(const Attrs& attrs, Specs in) {
  const TensorSpec& x = in[0];
  const std::int64_t inner = attrs.as<ReshapeAttrs>().inner;
  if (inner < 0) fail<ValueError>("inner must not be negative, got {}", inner);
  const std::size_t n_dims = x.shape.n_dims();
  if (n_dims == 1 && inner == 0) {
    expect_form(!x.shape[0].varies(), "x", x, "[D] with a fixed D");
    return {x.dtype, {1, x.shape[0]}};
  }
  expect_form(n_dims >= 2, "x", x, "[T, D] or [T, H, E]");
  const std::int64_t width = x.shape.cols();
  if (inner == 0) return {x.dtype, {x.shape[0], width}};
  expect_form(width % inner == 0, "x", x, "rows of a multiple of {} elements", inner);
  return {x.dtype, {x.shape[0], width / inner, inner}};
}

TensorSpec infer_slice(const Attrs& attrs, Specs in) {
  const TensorSpec& x = in[0];
  const auto& a = attrs.as<SliceAttrs>();
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, D]");
  const std::int64_t width = x.shape[1].bound, block = x.dtype.block_elems();
  if (a.begin < 0 || a.begin >= a.end || a.end > width) {
    fail<ValueError>("columns [{}, {}) must be within [0, {})", a.begin, a.end, width);
  }
  if (a.begin % block != 0 || a.end % block != 0) {
    fail<ValueError>("columns [{}, {}) must be whole {} blocks of {}", a.begin, a.end,
                     x.dtype.name(), block);
  }
  return {x.dtype, {x.shape[0], a.end - a.begin}};
}

std::int64_t slice_begin(const Attrs& attrs, Specs) {
  return attrs.as<SliceAttrs>().begin;
}

ColRange map_slice(const Attrs& attrs, Specs, int, ColRange out) {
  const std::int64_t begin = attrs.as<SliceAttrs>().begin;
  return {out.begin + begin, out.end + begin};
}

Cost free_of_cost(const Attrs&, Specs, const TensorSpec&, const Extents&) {
  return {};
}

std::int64_t block_granule(const Attrs&, Specs in, const TensorSpec&) {
  return in[0].dtype.block_elems();
}

// Columns that are cut at the same places, in another shape.
Cuts cut_reshaped(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  const Shape &from = in[0].shape, &to = out.shape;
  if (cut.axis != 1 || from.n_dims() < 2 || from[0] != to[0]) return std::nullopt;
  const std::int64_t times = to.cols() / to[1].bound, over = from.cols() / from[1].bound;
  const auto same = cut.scaled(1, times, over);
  return same ? Cuts({*same}) : std::nullopt;
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kReshape{.name = "reshape",
                     .inputs = kInputs,
                     .attrs = &kAttrsType<ReshapeAttrs>,
                     .infer = infer_reshape,
                     .cost = free_of_cost,
                     .col_granule = block_granule,
                     .storage = Storage::view,
                     .cuts = {.inputs = cut_reshaped, .linear = LinearIn::first}};

const OpDef kSlice{.name = "slice",
                   .inputs = kInputs,
                   .attrs = &kAttrsType<SliceAttrs>,
                   .infer = infer_slice,
                   .cost = free_of_cost,
                   .col_granule = block_granule,
                   .map_cols = map_slice,
                   .storage = Storage::view,
                   .view_col = slice_begin,
                   .cuts = {.whole = true}};

Tensor split_heads(Tensor x, std::int64_t n_heads, SourceLine where) {
  if (x) {
    const std::int64_t width = x.shape().cols();
    if (n_heads < 1 || width % n_heads != 0) {
      fail<ShapeError>("split_heads: x must be rows of a multiple of {} heads, got {} ({})",
                       n_heads, to_string(x.shape()), to_string(where));
    }
    return add_node(kReshape, {x}, ReshapeAttrs{width / n_heads}, where);
  }
  return add_node(kReshape, {x}, ReshapeAttrs{}, where);
}

Tensor merge_heads(Tensor x, SourceLine where) {
  return add_node(kReshape, {x}, ReshapeAttrs{}, where);
}

Tensor slice(Tensor x, std::int64_t begin, std::int64_t end, SourceLine where) {
  return add_node(kSlice, {x}, SliceAttrs{begin, end}, where);
}

}  // namespace weft

#include "weft/ops/rows/keep_rows.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &state = in[0], &x = in[1], &rows = in[2];
  expect_dtype("state", state, f32);
  const Shape &s = state.shape, &n = x.shape;
  expect_form(s.n_dims() >= 2 && !s[0].varies(), "state", state, "[R, ..]");
  expect_dtype("x", x, f32);
  const bool fits = n.n_dims() == s.n_dims() && std::equal(n.begin() + 1, n.end(), s.begin() + 1);
  expect_form(fits, "x", x, "[T, ..] like {}", to_string(s));
  expect_dtype("rows", rows, i32);
  expect_shape("rows", rows, {n[0]});
  return state;
}

void reference(const Attrs&, Views in, View out) {
  const View& x = in[1];
  const std::int32_t* rows = in[2].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    if (rows[t] >= 0) std::copy_n(x.row<const float>(t), x.cols(), out.row<float>(rows[t]));
  }
}

// Assumes that every token is written; counts rows of the step, not the whole state.
Cost cost(const Attrs&, Specs in, const TensorSpec&, const Extents& extents) {
  return {.bytes_read = bytes_at(in[1], extents) + bytes_at(in[2], extents),
          .bytes_written = bytes_at(in[1], extents)};
}

constexpr OpInput kInputs[] = {{"state"}, {"x", Reach::col}, {"rows", Reach::all}};

}  // namespace

const OpDef kKeepRows{.name = "keep_rows",
                      .inputs = kInputs,
                      .infer = infer,
                      .reference = reference,
                      .bound = exact,
                      .cost = cost,
                      .splits_rows = false,
                      .storage = Storage::state,
                      .cuts = {.whole = true}};

Tensor keep_rows(Tensor state, Tensor x, Tensor rows, SourceLine where) {
  return add_node(kKeepRows, {state, x, rows}, {}, where);
}

}  // namespace weft

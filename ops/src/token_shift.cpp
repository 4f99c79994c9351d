#include "weft/ops/token_shift.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &state = in[1];
  const Shape &n = x.shape, &s = state.shape;
  expect_dtype("x", x, f32);
  expect_form(n.rank() >= 2, "x", x, "[T, ..]");
  expect_dtype("state", state, f32);
  const bool fits =
      s.rank() == n.rank() && std::equal(n.begin() + 1, n.end(), s.begin() + 1) && !s[0].varies();
  expect_form(fits, "state", state, "[R, ..] like {}", to_string(n));
  for (const auto& [name, spec] : {std::pair{"from", in[2]}, {"before", in[3]}}) {
    expect_dtype(name, spec, i32);
    expect_shape(name, spec, {n[0]});
  }
  return x;
}

void reference(const Attrs&, Views in, View y) {
  const std::int32_t* from = in[2].row<const std::int32_t>(0);
  const std::int32_t* before = in[3].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < y.rows(); ++t) {
    if (before[t] >= 0) {
      std::copy_n(in[0].row<const float>(before[t]), y.cols(), y.row<float>(t));
    } else if (from[t] >= 0) {
      std::copy_n(in[1].row<const float>(from[t]), y.cols(), y.row<float>(t));
    } else {
      std::fill_n(y.row<float>(t), y.cols(), 0.0f);
    }
  }
}

// Every row of y is read once, from x or from the state.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t ids = bytes_at(in[2], extents) + bytes_at(in[3], extents);
  return {.bytes_read = bytes_at(out, extents) + ids, .bytes_written = bytes_at(out, extents)};
}

constexpr OpInput kInputs[] = {
    {"x", Reach::col}, {"state", Reach::col}, {"from", Reach::all}, {"before", Reach::all}};

}  // namespace

const OpDef kTokenShift{.name = "token_shift",
                        .inputs = kInputs,
                        .infer = infer,
                        .reference = reference,
                        .bound = exact,
                        .cost = cost,
                        .splits_rows = false};

Tensor token_shift(Tensor x, Tensor state, Tensor from, Tensor before, std::source_location where) {
  return add_node(kTokenShift, {x, state, from, before}, {}, where);
}

}  // namespace weft

#include "weft/ops/recurrent/token_shift.h"

#include <algorithm>

#include "recurrent/token_runs.h"

namespace weft {
namespace {

using namespace ops;

constexpr int kState = 1;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec& x = in[0];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, D]");
  expect_state_rows(in, x.shape[0], {x.shape[1].bound});
  return x;
}

void reference(const Attrs&, Views in, View out) {
  const View &x = in[0], &state = in[kState];
  const TokenRuns tokens(in);
  for (const TokenRuns::Run& run : tokens.runs) {
    const float* previous = run.from < 0 ? nullptr : state.row<const float>(run.from);
    for (const std::int64_t t : run.tokens) {
      if (previous) {
        std::copy_n(previous, x.cols(), out.row<float>(t));
      } else {
        std::fill_n(out.row<float>(t), x.cols(), 0.0f);
      }
      previous = x.row<const float>(t);
      if (const std::int32_t row = tokens.to[t]; row >= 0)
        std::copy_n(previous, x.cols(), state.row<float>(row));
    }
  }
}

// A row of y is read from x or from the state; assumes that every token is written to the state.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t moved = bytes_at(out, extents), ids = bytes_at(in.back(), extents);
  return {.bytes_read = 2 * moved + 3 * ids, .bytes_written = 2 * moved};
}

constexpr OpInput kInputs[] = {{"x", Reach::col},
                               {"state", Reach::col},
                               {"from", Reach::all},
                               {"before", Reach::all},
                               {"to", Reach::all}};

}  // namespace

const OpDef kTokenShift{.name = "token_shift",
                        .inputs = kInputs,
                        .infer = infer,
                        .reference = reference,
                        .bound = exact,
                        .cost = cost,
                        .splits_rows = false,
                        .updates = kState};

Tensor token_shift(Tensor x, const StateRows& rows, SourceLine where) {
  return add_node(kTokenShift, {x, rows.state, rows.from, rows.before, rows.to}, {}, where);
}

}  // namespace weft

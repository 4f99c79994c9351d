#pragma once
// Code shared by the ops whose state is a matrix S [N, P] per head: the loop over sequences, heads
// and tokens, with the errors of S and of the output.

#include <cstdint>
#include <vector>

#include "recurrent/token_runs.h"

namespace weft::ops {

// A factor per head, [T, H], or per row of S, [T, H, N], for y [T, H, P].
void expect_decay(const TensorSpec& decay, const Shape& y, std::int64_t n);
const float* decay_of(const View& decay, std::int64_t t, std::int64_t h);

// OpDef::map_cols: the columns of an input [T, G, ..] or of the state, H / G heads to a group, that
// columns `out` of y [T, H, P] need.
ColRange map_to_heads(const Attrs&, Specs in, int index, ColRange out);

struct MatrixState {
  std::int64_t n = 0, p = 0;
  std::vector<float> values;   // [N, P] of one head
  std::vector<double> errors;  // how far f32 may be from them
  // The output of the current token and head, [P], and its error.
  std::vector<double> y, y_error;
};

// The results that a loop over the tokens writes.
enum class MatrixLoop : std::uint8_t {
  values,         // y to `out`, S to rows of the state
  output_bounds,  // the errors of y to `out`
  state_bounds,   // the errors of S to rows of `out`, 0 to the others
};

// For every token t and head h, in the order of each sequence: step(state, t, h), which advances S
// and computes y; or, unless `loop` is values, errors(state, t, h) before it, which does the same
// with the errors (S is still that before the token, y is zero).
//   the state [R, H, N, P], from, before and to are the last four of `in`     y [T, H, P]
template <class Step, class Errors>
void for_each_token_and_head(Views in, const View& out, MatrixLoop loop, Step step, Errors errors) {
  const View& rows = in[in.size() - 4];
  const std::int64_t n_heads = rows.dim(1), n = rows.dim(2), p = rows.dim(3), size = n * p;
  const auto each = [&](const TokenRuns& tokens, const TokenRuns::Run& run, std::int64_t h) {
    const auto width = static_cast<std::size_t>(p), area = static_cast<std::size_t>(size);
    MatrixState s{n, p, std::vector<float>(area), {}, {}, {}};
    if (run.from >= 0)
      std::copy_n(rows.row<const float>(run.from) + h * size, size, s.values.begin());
    if (loop != MatrixLoop::values) s.errors.resize(area);
    for (const std::int64_t t : run.tokens) {
      s.y.assign(width, 0.0);
      s.y_error.assign(width, 0.0);
      if (loop != MatrixLoop::values) errors(s, t, h);
      step(s, t, h);
      const std::int32_t row = tokens.to[t];
      if (loop == MatrixLoop::values) {
        for (std::size_t j = 0; j < width; ++j)
          out.row<float>(t)[h * p + static_cast<std::int64_t>(j)] = static_cast<float>(s.y[j]);
        if (row >= 0) std::copy_n(s.values.begin(), size, rows.row<float>(row) + h * size);
      } else if (loop == MatrixLoop::output_bounds) {
        std::ranges::transform(s.y_error, out.row<float>(t) + h * p, bound_up);
      } else if (row >= 0) {
        std::ranges::transform(s.errors, out.row<float>(row) + h * size, bound_up);
      }
    }
  };
  if (loop == MatrixLoop::state_bounds) exact({}, in, out);
  const TokenRuns tokens(in);
  for (const TokenRuns::Run& run : tokens.runs) {
    for (std::int64_t h = 0; h < n_heads; ++h) each(tokens, run, h);
  }
}

// The definition of an op by its steps, as in for_each_token_and_head(). Token(in, t, h): the
// vectors of one token and head.
template <class Token, void (*step)(const Token&, MatrixState&),
          void (*errors)(const Token&, MatrixState&)>
struct MatrixOp {
  static void reference(const Attrs&, Views in, View out) { run(in, out, MatrixLoop::values); }
  static void bound(const Attrs&, Views in, View bounds) {
    run(in, bounds, MatrixLoop::output_bounds);
  }
  static void update_bound(const Attrs&, Views in, View bounds) {
    run(in, bounds, MatrixLoop::state_bounds);
  }

 private:
  static void run(Views in, const View& out, MatrixLoop loop) {
    for_each_token_and_head(
        in, out, loop,
        [&](MatrixState& s, std::int64_t t, std::int64_t h) { step(Token(in, t, h), s); },
        [&](MatrixState& s, std::int64_t t, std::int64_t h) { errors(Token(in, t, h), s); });
  }
};

}  // namespace weft::ops

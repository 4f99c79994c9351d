#include "weft/ops/recurrent/selective_scan.h"

#include "recurrent/token_runs.h"

namespace weft {
namespace {

using namespace ops;
using namespace selective_scan_inputs;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[kX], &a = in[kA];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, I]");
  expect_dtype("dt", in[kDt], f32);
  expect_shape("dt", in[kDt], x.shape);
  const std::int64_t width = x.shape[1].bound;
  expect_dtype("a", a, f32);
  const bool fits = a.shape.n_dims() == 2 && a.shape[0] == Dim(width) && a.shape[1].bound > 0;
  expect_form(fits, "a", a, "[{}, N]", width);
  for (const auto& [name, i] : {std::pair{"b", kB}, {"c", kC}}) {
    expect_dtype(name, in[i], f32);
    expect_shape(name, in[i], {x.shape[0], a.shape[1]});
  }
  expect_state_rows(in, x.shape[0], {width, a.shape[1].bound});
  return x;
}

// One channel along the tokens of a run.
struct Channel {
  std::vector<float> values;   // s
  std::vector<double> errors;  // how far f32 may be from it
  double y = 0, y_error = 0;   // output of the current token, and its error
};

void step(Views in, std::int64_t t, std::int64_t i, Channel& s) {
  const float *a = in[kA].row<const float>(i), *b = in[kB].row<const float>(t),
              *c = in[kC].row<const float>(t);
  const double dt = in[kDt].row<const float>(t)[i], x = in[kX].row<const float>(t)[i];
  s.y = 0;
  for (std::size_t n = 0; n < s.values.size(); ++n) {
    s.values[n] = static_cast<float>(std::exp(dt * a[n]) * s.values[n] + dt * x * b[n]);
    s.y += static_cast<double>(c[n]) * s.values[n];
  }
}

// s: an exp good to 2 ulp of a rounded product z, which changes it by |z| roundings; three products
// and a sum beside the definition's own rounding; the error so far times the decay. y: N products
// and sums with s and its error.
void errors(Views in, std::int64_t t, std::int64_t i, Channel& s) {
  const float *a = in[kA].row<const float>(i), *b = in[kB].row<const float>(t),
              *c = in[kC].row<const float>(t);
  const double dt = in[kDt].row<const float>(t)[i];
  const double x = std::fabs(in[kX].row<const float>(t)[i]);
  const double sums = rounding(static_cast<double>(s.values.size()) + 2);
  s.y_error = 0;
  for (std::size_t n = 0; n < s.values.size(); ++n) {
    const double z = dt * a[n], decay = std::exp(z), read = std::fabs(c[n]);
    const double before = std::fabs(s.values[n]) + s.errors[n];
    const double kept = decay * before, added = std::fabs(dt) * x * std::fabs(b[n]);
    s.errors[n] = decay * s.errors[n] + rounding(std::fabs(z) + 8) * kept + rounding(5) * added +
                  kFlushed * (6 + decay + before + std::fabs(dt) + x + std::fabs(b[n]));
    const double seen = kept + added + s.errors[n];
    s.y_error += read * s.errors[n] + sums * read * seen + kFlushed * (2 + read + seen);
  }
}

// Calls each(t, i, channel) for every token and channel, in the order of each sequence.
template <class F>
void for_each_channel(Views in, const TokenRuns& tokens, bool with_errors, F each) {
  const std::int64_t n = in[kA].dim(1);
  for (const TokenRuns::Run& run : tokens.runs) {
    for (std::int64_t i = 0; i < in[kX].dim(1); ++i) {
      Channel s{std::vector<float>(static_cast<std::size_t>(n)), {}};
      if (with_errors) s.errors.resize(s.values.size());
      if (run.from >= 0)
        std::copy_n(in[kState].row<const float>(run.from) + i * n, n, s.values.begin());
      for (const std::int64_t t : run.tokens) {
        if (with_errors) errors(in, t, i, s);
        step(in, t, i, s);
        each(t, i, s);
      }
    }
  }
}

void reference(const Attrs&, Views in, View out) {
  const TokenRuns tokens(in);
  for_each_channel(in, tokens, false, [&](std::int64_t t, std::int64_t i, const Channel& s) {
    out.row<float>(t)[i] = static_cast<float>(s.y);
    if (const std::int32_t row = tokens.to[t]; row >= 0)
      std::ranges::copy(s.values, in[kState].row<float>(row) + i * std::ssize(s.values));
  });
}

void bound(const Attrs&, Views in, View bounds) {
  for_each_channel(in, TokenRuns(in), true, [&](std::int64_t t, std::int64_t i, const Channel& s) {
    bounds.row<float>(t)[i] = bound_up(s.y_error);
  });
}

void update_bound(const Attrs&, Views in, View bounds) {
  exact({}, in, bounds);
  const TokenRuns tokens(in);
  for_each_channel(in, tokens, true, [&](std::int64_t t, std::int64_t i, const Channel& s) {
    if (const std::int32_t row = tokens.to[t]; row >= 0)
      std::ranges::transform(s.errors, bounds.row<float>(row) + i * std::ssize(s.errors), bound_up);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return recurrent_cost(in, out, extents, 4);
}

ColRange map_cols(const Attrs&, Specs in, int index, ColRange out) {
  if (index != static_cast<int>(kState)) return out;
  const std::int64_t n = in[kState].shape.last();
  return {out.begin * n, out.end * n};
}

constexpr OpInput kInputs[] = {{"x", Reach::col},    {"dt", Reach::col},     {"a", Reach::all},
                               {"b", Reach::all},    {"c", Reach::all},      {"state", Reach::col},
                               {"from", Reach::all}, {"before", Reach::all}, {"to", Reach::all}};

}  // namespace

const OpDef kSelectiveScan{.name = "selective_scan",
                           .inputs = kInputs,
                           .infer = infer,
                           .reference = reference,
                           .bound = bound,
                           .cost = cost,
                           .map_cols = map_cols,
                           .splits_rows = false,
                           .updates = kState,
                           .update_bound = update_bound};

Tensor selective_scan(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, const StateRows& rows,
                      SourceLine where) {
  return add_node(kSelectiveScan, {x, dt, a, b, c, rows.state, rows.from, rows.before, rows.to}, {},
                  where);
}

}  // namespace weft

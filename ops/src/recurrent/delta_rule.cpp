#include "weft/ops/recurrent/delta_rule.h"

#include "recurrent/matrix_state.h"

namespace weft {
namespace {

using namespace ops;
using namespace delta_rule_inputs;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &q = in[kQ], &v = in[kV];
  expect_dtype("v", v, f32);
  const bool heads = v.shape.n_dims() == 3 && v.shape[1].bound > 0 && v.shape[2].bound > 0;
  expect_form(heads, "v", v, "[T, H, P]");
  expect_dtype("q", q, f32);
  const bool fits = q.shape.n_dims() == 3 && q.shape[0] == v.shape[0] && q.shape[1] == v.shape[1] &&
                    q.shape[2].bound > 0;
  expect_form(fits, "q", q, "[T, {}, N]", v.shape[1].bound);
  for (const auto& [name, i] : {std::pair{"k", kK}, {"remove", kRemove}, {"write", kWrite}}) {
    expect_dtype(name, in[i], f32);
    expect_shape(name, in[i], q.shape);
  }
  const std::int64_t n = q.shape[2].bound;
  expect_decay(in[kDecay], v.shape, n);
  expect_state_rows(in, v.shape[0], {v.shape[1].bound, n, v.shape[2].bound});
  return v;
}

// The vectors of one token and head.
struct Token {
  const float *q, *k, *v, *decay, *remove, *write;
  std::int64_t decay_step;  // 0: one factor for all

  Token(Views in, std::int64_t t, std::int64_t h)
      : q(of_head(in[kQ], t, h)),
        k(of_head(in[kK], t, h)),
        v(of_head(in[kV], t, h)),
        decay(decay_of(in[kDecay], t, h)),
        remove(of_head(in[kRemove], t, h)),
        write(of_head(in[kWrite], t, h)),
        decay_step(in[kDecay].n_dims == 3 ? 1 : 0) {}

 private:
  static const float* of_head(const View& x, std::int64_t t, std::int64_t h) {
    return x.row<const float>(t) + h * x.dim(2);
  }
};

// remove^T S, [P].
std::vector<double> removed(const Token& in, const MatrixState& s) {
  std::vector<double> sum(static_cast<std::size_t>(s.p));
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double factor = in.remove[i];
    const float* const row = &s.values[static_cast<std::size_t>(i * s.p)];
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * row[j];
  }
  return sum;
}

void step(const Token& in, MatrixState& s) {
  const std::vector<double> back = removed(in, s);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double q = in.q[i], k = in.k[i], write = in.write[i];
    const double decay = in.decay[i * in.decay_step];
    float* const row = &s.values[static_cast<std::size_t>(i * s.p)];
    for (std::size_t j = 0; j < back.size(); ++j) {
      row[j] = static_cast<float>(decay * row[j] + write * back[j] + k * in.v[j]);
      s.y[j] += q * row[j];
    }
  }
}

// How far remove^T S may be off, and its magnitude.
struct Removed {
  std::vector<double> error, size;
};

Removed removed_errors(const Token& in, const MatrixState& s) {
  const auto width = static_cast<std::size_t>(s.p);
  Removed r{std::vector<double>(width), std::vector<double>(width)};
  const double sums = rounding(static_cast<double>(s.n) + 2);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double factor = std::fabs(in.remove[i]);
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * width + j;
      const double size = std::fabs(s.values[at]) + s.errors[at];
      r.size[j] += factor * size;
      r.error[j] += factor * s.errors[at] + sums * factor * size + kFlushed * (2 + factor + size);
    }
  }
  return r;
}

// S: three products and two sums beside the definition's own rounding, with the errors so far. y: N
// products and sums with S and its error.
void errors(const Token& in, MatrixState& s) {
  const Removed back = removed_errors(in, s);
  const double sums = rounding(static_cast<double>(s.n) + 2);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double q = std::fabs(in.q[i]), k = std::fabs(in.k[i]), write = std::fabs(in.write[i]);
    const double decay = std::fabs(in.decay[i * in.decay_step]);
    for (std::size_t j = 0; j < back.size.size(); ++j) {
      const std::size_t at = static_cast<std::size_t>(i * s.p) + j;
      double& error = s.errors[at];
      const double before = std::fabs(s.values[at]) + error, v = std::fabs(in.v[j]);
      const double size = decay * before + write * (back.size[j] + back.error[j]) + k * v;
      error = decay * error + write * back.error[j] + rounding(6) * size +
              kFlushed * (6 + decay + before + write + back.size[j] + k + v);
      const double seen = size + error;
      s.y_error[j] += q * error + sums * q * seen + kFlushed * (2 + q + seen);
    }
  }
}

using Op = MatrixOp<Token, step, errors>;

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return recurrent_cost(in, out, extents, 5);
}

constexpr OpInput kInputs[] = {
    {"q", Reach::col},      {"k", Reach::col},     {"v", Reach::col},     {"decay", Reach::col},
    {"remove", Reach::col}, {"write", Reach::col}, {"state", Reach::col}, {"from", Reach::all},
    {"before", Reach::all}, {"to", Reach::all}};

}  // namespace

const OpDef kDeltaRule{.name = "delta_rule",
                       .inputs = kInputs,
                       .infer = infer,
                       .reference = Op::reference,
                       .bound = Op::bound,
                       .cost = cost,
                       .col_granule = last_dimension,
                       .map_cols = map_to_heads,
                       .splits_rows = false,
                       .updates = kState,
                       .update_bound = Op::update_bound};

Tensor delta_rule(const DeltaRuleInputs& in, const StateRows& rows, SourceLine where) {
  return add_node(kDeltaRule,
                  {in.q, in.k, in.v, in.decay, in.remove, in.write, rows.state, rows.from,
                   rows.before, rows.to},
                  {}, where);
}

}  // namespace weft

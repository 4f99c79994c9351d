#include "weft/ops/recurrent/gated_linear_attention.h"

#include "recurrent/matrix_state.h"

namespace weft {
namespace {

using namespace ops;
using namespace gated_linear_attention_inputs;

// [T, G, N] with G a divisor of H.
void expect_groups(std::string_view name, const TensorSpec& spec, const Shape& v, std::int64_t n) {
  expect_dtype(name, spec, f32);
  const Shape& s = spec.shape;
  const bool fits = s.n_dims() == 3 && s[0] == v[0] && s[1].bound > 0 && s[2].bound > 0 &&
                    v[1].bound % s[1].bound == 0 && (n == 0 || s[2].bound == n);
  expect_form(fits, name, spec, "[T, G, {}], G a divisor of {}", n > 0 ? std::to_string(n) : "N",
              v[1].bound);
}

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec& v = in[kV];
  expect_dtype("v", v, f32);
  const bool heads = v.shape.n_dims() == 3 && v.shape[1].bound > 0 && v.shape[2].bound > 0;
  expect_form(heads, "v", v, "[T, H, P]");
  expect_groups("q", in[kQ], v.shape, 0);
  const std::int64_t n_heads = v.shape[1].bound, n = in[kQ].shape[2].bound;
  expect_groups("k", in[kK], v.shape, n);
  expect_decay(in[kDecay], v.shape, n);
  if (in[kBonus].present()) {
    expect_dtype("bonus", in[kBonus], f32);
    expect_shape("bonus", in[kBonus], {n_heads, n});
  }
  expect_state_rows(in, v.shape[0], {n_heads, n, v.shape[2].bound});
  return v;
}

// The vectors of one token and head.
struct Token {
  const float *q, *k, *v, *decay, *bonus;
  std::int64_t decay_step;  // 0: one factor for all

  Token(Views in, std::int64_t t, std::int64_t h)
      : q(of_group(in[kQ], in, t, h)),
        k(of_group(in[kK], in, t, h)),
        v(in[kV].row<const float>(t) + h * in[kV].dim(2)),
        decay(decay_of(in[kDecay], t, h)),
        bonus(in[kBonus] ? in[kBonus].row<const float>(h) : nullptr),
        decay_step(in[kDecay].n_dims == 3 ? 1 : 0) {}

 private:
  static const float* of_group(const View& x, Views in, std::int64_t t, std::int64_t h) {
    return x.row<const float>(t) + h / (in[kV].dim(1) / x.dim(1)) * x.dim(2);
  }
};

void step(const Token& in, MatrixState& s) {
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double q = in.q[i], k = in.k[i], decay = in.decay[i * in.decay_step];
    const double own = in.bonus ? k * in.bonus[i] : 0;
    float* const row = &s.values[static_cast<std::size_t>(i * s.p)];
    double* const y = s.y.data();
    if (in.bonus) {
      for (std::int64_t j = 0; j < s.p; ++j) y[j] += q * (row[j] + own * in.v[j]);
    }
    for (std::int64_t j = 0; j < s.p; ++j)
      row[j] = static_cast<float>(decay * row[j] + k * in.v[j]);
    if (!in.bonus) {
      for (std::int64_t j = 0; j < s.p; ++j) y[j] += q * row[j];
    }
  }
}

// S: two products and a sum beside the definition's own rounding, and the error so far times the
// decay. y: N products and sums with S and its error.
void errors(const Token& in, MatrixState& s) {
  const double sums = rounding(static_cast<double>(s.n) + 4);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double q = std::fabs(in.q[i]), k = std::fabs(in.k[i]);
    const double decay = std::fabs(in.decay[i * in.decay_step]);
    const double own = in.bonus ? k * std::fabs(in.bonus[i]) : 0;
    for (std::int64_t j = 0; j < s.p; ++j) {
      double& error = s.errors[static_cast<std::size_t>(i * s.p + j)];
      const double before = std::fabs(s.values[static_cast<std::size_t>(i * s.p + j)]) + error;
      const double v = std::fabs(in.v[j]), size = decay * before + k * v;
      const double error_before = error;
      error = decay * error + rounding(4) * size + kFlushed * (4 + decay + before + k + v);
      const double seen = in.bonus ? before + own * v : size + error;
      s.y_error[static_cast<std::size_t>(j)] +=
          q * (in.bonus ? error_before : error) + sums * q * seen + kFlushed * (2 + q + seen + own);
    }
  }
}

using Op = MatrixOp<Token, step, errors>;

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return recurrent_cost(in, out, extents, 3);
}

constexpr OpInput kInputs[] = {
    {"q", Reach::col},     {"k", Reach::col},           {"v", Reach::col},
    {"decay", Reach::col}, {"bonus", Reach::all, true}, {"state", Reach::col},
    {"from", Reach::all},  {"before", Reach::all},      {"to", Reach::all}};

}  // namespace

const OpDef kGatedLinearAttention{.name = "gated_linear_attention",
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

Tensor gated_linear_attention(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor bonus,
                              const StateRows& rows, SourceLine where) {
  return add_node(kGatedLinearAttention,
                  {q, k, v, decay, bonus, rows.state, rows.from, rows.before, rows.to}, {}, where);
}

}  // namespace weft

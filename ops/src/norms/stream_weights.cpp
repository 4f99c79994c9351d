#include "weft/ops/norms/stream_weights.h"

#include <algorithm>
#include <array>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<StreamWeightsAttrs>();
  const TensorSpec &x = in[0], &scale = in[1], &base = in[2];
  if (a.n < 1 || a.n > kMaxStreams) fail<ValueError>("n must be 1..{}, got {}", kMaxStreams, a.n);
  if (a.iterations < 1 || a.iterations > kMaxSinkhornIterations) {
    fail<ValueError>("iterations must be 1..{}, got {}", kMaxSinkhornIterations, a.iterations);
  }
  expect_positive("eps", a.eps);
  const std::int64_t n = a.n, all = n * (n + 2);
  expect_dtype("x", x, f32);
  const bool fits = x.shape.n_dims() == 2 && (x.shape[1] == Dim(n) || x.shape[1] == Dim(all));
  expect_form(fits, "x", x, "[T, {}] or [T, {}]", n, all);
  expect_dtype("scale", scale, f32);
  expect_shape("scale", scale, {x.shape[1] == Dim(n) ? 1 : 3});
  expect_dtype("base", base, f32);
  expect_shape("base", base, {x.shape[1]});
  return x;
}

// The inputs of one token. `c` is a column of x.
struct Token {
  const float *x, *scale, *base;

  double at(std::int64_t c, int group) const {
    return static_cast<double>(scale[group]) * x[c] + base[c];
  }
  double magnitude(std::int64_t c, int group) const {
    return std::fabs(static_cast<double>(scale[group]) * x[c]) + std::fabs(double{base[c]});
  }
};

Token token(Views in, std::int64_t t) {
  return {in[0].row<const float>(t), in[1].row<const float>(0), in[2].row<const float>(0)};
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

using Matrix = std::array<double, std::size_t{kMaxStreams} * kMaxStreams>;

// Divides n sums of n elements: `step` from element to element, `next` from sum to sum.
void divide(double* m, std::int64_t n, std::int64_t step, std::int64_t next, double eps) {
  for (std::int64_t i = 0; i < n; ++i, m += next) {
    double sum = eps;
    for (std::int64_t j = 0; j < n; ++j) sum += m[j * step];
    for (std::int64_t j = 0; j < n; ++j) m[j * step] /= sum;
  }
}

// m[i n + j] = mix[i][j]
void mix(const StreamWeightsAttrs& a, const Token& token, Matrix& m) {
  const std::int64_t n = a.n;
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = m.data() + i * n;
    for (std::int64_t j = 0; j < n; ++j) row[j] = token.at(2 * n + i * n + j, 2);
    const double max = *std::max_element(row, row + n);
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - max);
    for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] / sum + a.eps;
  }
  divide(m.data(), n, n, 1, a.eps);
  for (std::int32_t k = 1; k < a.iterations; ++k) {
    divide(m.data(), n, 1, n, a.eps);
    divide(m.data(), n, n, 1, a.eps);
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  stream_weights_rows(attrs.as<StreamWeightsAttrs>(), in, out, 0, out.rows());
}

// A sigmoid changes at most by a quarter of its argument's error, and takes 8 roundings. The
// logarithms of the softmax are off by d, twice the argument's error and n + 12 roundings; each of
// the m divisions adds n + 2 roundings to d. Dividing rows or columns spreads factors within
// exp(+-d): those of all rows, or columns, then differ by 2 d more than before, so that after m
// divisions an element is off by a factor within exp(+-2 m d).
void bound(const Attrs& attrs, Views in, View bounds) {
  const auto& a = attrs.as<StreamWeightsAttrs>();
  const std::int64_t n = a.n;
  for (std::int64_t t = 0; t < bounds.rows(); ++t) {
    const Token at = token(in, t);
    float* b = bounds.row<float>(t);
    const auto gate = [&](std::int64_t c, int group, double factor) {
      const double y = factor * sigmoid_of(at.at(c, group)) + a.eps;
      return bound_up(factor / 4 * rounding(2) * at.magnitude(c, group) + rounding(8) * y +
                      2 * kFlushed);
    };
    for (std::int64_t i = 0; i < n; ++i) b[i] = gate(i, 0, 1);
    if (bounds.cols() == n) continue;
    Matrix m;
    mix(a, at, m);
    double argument = 0;
    for (std::int64_t c = 2 * n; c < bounds.cols(); ++c)
      argument = std::max(argument, at.magnitude(c, 2));
    const double m_divisions = 2.0 * a.iterations - 1, roundings = static_cast<double>(n + 2);
    const double d = 2 * rounding(4) * argument + rounding(roundings * (m_divisions + 1) + 10);
    for (std::int64_t j = 0; j < n; ++j) {
      float* const column = b + n + j * (n + 1);
      column[0] = gate(n + j, 1, 2);
      for (std::int64_t i = 0; i < n; ++i) {
        const double y = m[static_cast<std::size_t>(i * n + j)];
        column[1 + i] = bound_up(std::expm1(2 * m_divisions * d) * y + 2 * kFlushed);
      }
    }
  }
}

Cost cost(const Attrs& attrs, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents,
               elems_at(out, extents) * (2 * attrs.as<StreamWeightsAttrs>().iterations + 2));
}

constexpr OpInput kInputs[] = {{"x", Reach::row}, {"scale", Reach::all}, {"base", Reach::all}};

}  // namespace

void stream_weights_rows(const StreamWeightsAttrs& a, Views in, const View& y, std::int64_t row0,
                         std::int64_t row1) noexcept {
  const std::int64_t n = a.n;
  for (std::int64_t t = row0; t < row1; ++t) {
    const Token at = token(in, t);
    float* const row = y.row<float>(t);
    for (std::int64_t i = 0; i < n; ++i)
      row[i] = static_cast<float>(sigmoid_of(at.at(i, 0)) + a.eps);
    if (y.cols() == n) continue;
    Matrix m;
    mix(a, at, m);
    for (std::int64_t j = 0; j < n; ++j) {
      float* const column = row + n + j * (n + 1);
      column[0] = static_cast<float>(2 * sigmoid_of(at.at(n + j, 1)));
      for (std::int64_t i = 0; i < n; ++i)
        column[1 + i] = static_cast<float>(m[static_cast<std::size_t>(i * n + j)]);
    }
  }
}

const OpDef kStreamWeights{.name = "stream_weights",
                           .inputs = kInputs,
                           .attrs = &kAttrsType<StreamWeightsAttrs>,
                           .infer = infer,
                           .reference = reference,
                           .bound = bound,
                           .cost = cost,
                           .col_granule = last_dimension,
                           .cuts = {.whole = true}};

Tensor stream_weights(Tensor x, Tensor scale, Tensor base, const StreamWeightsAttrs& attrs,
                      SourceLine where) {
  return add_node(kStreamWeights, {x, scale, base}, attrs, where);
}

}  // namespace weft

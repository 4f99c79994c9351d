#pragma once
// x w^T, which linear, linear_concat and gated_linear share: x [T, K] f32 or Q8A, w [N, K] of any
// format.

#include "op_support.h"

namespace weft::ops {

// Checks x and returns K.
std::int64_t expect_projected(const TensorSpec& x);
void expect_matrix(std::string_view name, const TensorSpec& w, std::int64_t k);

// Calls f(t, n, sum_k x[t, k] * w[n, k]) for every t and n.
template <class F>
void project(const View& x, const View& w, F f) {
  const std::vector<float> rows = decode_rows(x);
  const std::int64_t k = x.cols();
  RowReader weights(w);
  for (std::int64_t n = 0; n < w.rows(); ++n) {
    const float* wn = weights[n];
    for (std::int64_t t = 0; t < x.rows(); ++t) {
      const float* xt = rows.data() + t * k;
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(xt[i]) * wn[i];
      f(t, n, sum);
    }
  }
}

// For every weight of a row, the largest magnitude of intermediate results: |w|, and for quantized
// formats plus the largest |w| of its block of 32, because a kernel may sum up codes and subtract
// their offset (a zero point, a minimum) at the end.
std::vector<float> used_magnitudes(const float* w, std::int64_t k, bool quantized);

// By how much f32 may miss sum_k x[k] * w[k]: K products and additions plus 8 for scales,
// gamma_{K+8}
// * sum_k |x_k| |w_k|, and a flushed subnormal for each of them. `magnitudes`: used_magnitudes().
double projection_error(const float* x, const std::vector<float>& magnitudes);

// Calls f(t, n, sum, error): by how much f32 may miss the sum.
template <class F>
void project_bound(const View& x, const View& w, F f) {
  const std::vector<float> rows = decode_rows(x);
  const std::int64_t k = x.cols();
  RowReader weights(w);
  for (std::int64_t n = 0; n < w.rows(); ++n) {
    const float* wn = weights[n];
    const std::vector<float> magnitudes = used_magnitudes(wn, k, w.dtype.is_quantized());
    for (std::int64_t t = 0; t < x.rows(); ++t) {
      const float* xt = rows.data() + t * k;
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(xt[i]) * wn[i];
      f(t, n, sum, projection_error(xt, magnitudes));
    }
  }
}

}  // namespace weft::ops

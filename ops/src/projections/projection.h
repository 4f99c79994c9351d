#pragma once
// x w^T, which linear, linear_concat and gated_linear share: x [T, K] f32 or Q8A, w [N, K] of any
// format.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "op_support.h"

namespace weft::ops {

// Checks x and returns K.
std::int64_t expect_projected(const TensorSpec& x);
void expect_matrix(std::string_view name, const TensorSpec& w, std::int64_t k);

// Rows of weights whose sums are computed at the same time: each sum adds its products in the order
// of k, and no sum waits for another one.
inline constexpr std::int64_t kRowsAtATime = 8;
using Sums = std::array<double, kRowsAtATime>;

// Rows of weights, as floats in the order of k, with the values of all rows for each k.
class InterleavedRows {
 public:
  explicit InterleavedRows(std::int64_t k) : values_(static_cast<std::size_t>(k * kRowsAtATime)) {}
  void set(std::int64_t row, std::span<const float> values);
  Sums products(const float* x) const;    // sum_k x[k] * w[k], of each row
  Sums magnitudes(const float* x) const;  // sum_k |x[k] * w[k]|, likewise

 private:
  std::vector<float> values_;
};

// Calls f(t, n, sum_k x[t, k] * w[n, k]) for every t and n.
template <class F>
void project(const View& x, const View& w, F f) {
  const std::vector<float> rows = decode_rows(x);
  const std::int64_t k = x.cols();
  RowReader weights(w);
  InterleavedRows some(k);
  for (std::int64_t n = 0; n < w.rows(); n += kRowsAtATime) {
    const std::int64_t n_some = std::min(w.rows() - n, kRowsAtATime);
    for (std::int64_t i = 0; i < n_some; ++i)
      some.set(i, std::span(weights[n + i], static_cast<std::size_t>(k)));
    for (std::int64_t t = 0; t < x.rows(); ++t) {
      const Sums sums = some.products(rows.data() + t * k);
      for (std::int64_t i = 0; i < n_some; ++i) f(t, n + i, sums[static_cast<std::size_t>(i)]);
    }
  }
}

// For every weight of a row, the largest magnitude of intermediate results: |w|, and for quantized
// formats plus the largest |w| of its block of 32, because a kernel may sum up codes and subtract
// their offset (a zero point, a minimum) at the end.
std::vector<float> used_magnitudes(const float* w, std::int64_t k, bool quantized);

// By how much f32 may miss sum_k x[k] * w[k]: K products and additions plus 8 for scales,
// gamma_{K+8} * sum_k |x_k| |w_k|, and a flushed subnormal for each of them. `magnitudes`:
// used_magnitudes().
double projection_error(const float* x, const std::vector<float>& magnitudes);
// Likewise, with sum_k |x_k| |w_k|.
double projection_error(double sum_of_magnitudes, std::int64_t k);

// Calls f(t, n, sum, error): by how much f32 may miss the sum.
template <class F>
void project_bound(const View& x, const View& w, F f) {
  const std::vector<float> rows = decode_rows(x);
  const std::int64_t k = x.cols();
  RowReader weights(w);
  InterleavedRows some(k), magnitudes(k);
  for (std::int64_t n = 0; n < w.rows(); n += kRowsAtATime) {
    const std::int64_t n_some = std::min(w.rows() - n, kRowsAtATime);
    for (std::int64_t i = 0; i < n_some; ++i) {
      const float* wn = weights[n + i];
      some.set(i, std::span(wn, static_cast<std::size_t>(k)));
      magnitudes.set(i, used_magnitudes(wn, k, w.dtype.is_quantized()));
    }
    for (std::int64_t t = 0; t < x.rows(); ++t) {
      const Sums sums = some.products(rows.data() + t * k);
      const Sums totals = magnitudes.magnitudes(rows.data() + t * k);
      for (std::int64_t i = 0; i < n_some; ++i) {
        const auto at = static_cast<std::size_t>(i);
        f(t, n + i, sums[at], projection_error(totals[at], k));
      }
    }
  }
}

}  // namespace weft::ops

#include "projections/projection.h"

#include <algorithm>

#include "weft/ops/formats/q8a.h"

namespace weft::ops {

std::int64_t expect_projected(const TensorSpec& x) {
  if (x.dtype != f32 && x.dtype != q8a) {
    fail<DTypeError>("x must be F32 or Q8A, got {}", x.dtype.name());
  }
  expect_form(x.shape.n_dims() == 2, "x", x, "[T, K]");
  return x.shape[1].bound;
}

void expect_matrix(std::string_view name, const TensorSpec& w, std::int64_t k) {
  expect_format(name, w);
  const bool fits = w.shape.n_dims() == 2 && !w.shape[0].varies() && w.shape[1].bound == k;
  expect_form(fits, name, w, "[N, {}]", k);
}

std::vector<float> used_magnitudes(const float* w, std::int64_t k, bool quantized) {
  constexpr std::int64_t kGroup = 32;
  std::vector<float> magnitudes(static_cast<std::size_t>(k));
  for (std::int64_t begin = 0; begin < k; begin += kGroup) {
    const std::int64_t end = std::min(k, begin + kGroup);
    float largest = 0;
    for (std::int64_t i = begin; quantized && i < end; ++i) {
      largest = std::max(largest, std::fabs(w[i]));
    }
    for (std::int64_t i = begin; i < end; ++i) {
      magnitudes[static_cast<std::size_t>(i)] = std::fabs(w[i]) + largest;
    }
  }
  return magnitudes;
}

double projection_error(const float* x, const std::vector<float>& magnitudes) {
  double total = 0;
  for (std::size_t i = 0; i < magnitudes.size(); ++i)
    total += std::fabs(static_cast<double>(x[i]) * magnitudes[i]);
  return projection_error(total, std::ssize(magnitudes));
}

double projection_error(double sum_of_magnitudes, std::int64_t k) {
  const auto n_ops = static_cast<double>(k + 8);
  return rounding(n_ops) * sum_of_magnitudes + n_ops * kFlushed;
}

void InterleavedRows::set(std::int64_t row, std::span<const float> values) {
  float* to = values_.data() + row;
  for (std::size_t i = 0; i < values.size(); ++i) to[i * kRowsAtATime] = values[i];
}

Sums InterleavedRows::products(const float* x) const {
  Sums sums{};
  const float* w = values_.data();
  for (const float* end = w + values_.size(); w < end; w += kRowsAtATime, ++x) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(*x) * w[i];
  }
  return sums;
}

Sums InterleavedRows::magnitudes(const float* x) const {
  Sums sums{};
  const float* w = values_.data();
  for (const float* end = w + values_.size(); w < end; w += kRowsAtATime, ++x) {
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += std::fabs(static_cast<double>(*x) * w[i]);
  }
  return sums;
}

}  // namespace weft::ops

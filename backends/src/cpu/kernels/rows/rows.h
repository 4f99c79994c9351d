#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Over the d floats of a row or a head. Where there are x and y, y may be x.
struct RowKernels {
  // (x - mean) / sqrt(variance + eps)
  void (*layer_norm)(const float* x, float* y, std::int64_t d, float eps) noexcept = nullptr;
  // max(x - (mean + deviations * standard deviation), 0), d at least 2
  void (*gaussian_top_k)(const float* x, float* y, std::int64_t d,
                         float deviations) noexcept = nullptr;
  float (*dot)(const float* a, const float* b, std::int64_t d) noexcept = nullptr;
  void (*softmax)(const float* x, float* y, std::int64_t d) noexcept = nullptr;
  // x / max(sum of x, min)
  void (*normalize_sum)(const float* x, float* y, std::int64_t d, float min) noexcept = nullptr;
  // y = sum of weights[i] * row i of n rows, in this order; `stride` floats from row to row.
  void (*weighted_sum)(const float* x, std::int64_t stride, const float* weights, std::int64_t n,
                       float* y, std::int64_t d) noexcept = nullptr;
};

template <class Arch>
struct Rows {
  static RowKernels run() noexcept;
};

}  // namespace weft::cpu

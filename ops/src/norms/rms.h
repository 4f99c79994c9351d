#pragma once
// Code shared by rms_norm and rms_norm_mul.

#include "op_support.h"

namespace weft::ops {

TensorSpec infer_rms(const Attrs& attrs, Specs in);
// 1 / sqrt(mean of squares + eps) over d values.
double rms_factor(const float* x, std::int64_t d, double eps);
// The relative error bound in f32. The sum of d squares has no cancellation: d + 2 roundings,
// halved by the root; then the mean, eps, root, division and two products.
inline double rms_error(std::int64_t d) {
  return rounding(static_cast<double>(d) / 2 + 8);
}

}  // namespace weft::ops

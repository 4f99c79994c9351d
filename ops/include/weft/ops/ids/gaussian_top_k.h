#pragma once
// Keeps the parts of elements above a quantile of the row, if they are normally distributed:
//   y[.., i] = max(x[.., i] - (mean + deviations * std), 0) over the last dimension
//   mean = sum_i x[i] / D     std = sqrt(sum_i (x[i] - mean)^2 / (D - 1))
//   x f32, D at least 2     y like x, may run in place
// Source: You et al. 2025, arXiv:2506.06644, section 2.

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct GaussianTopKAttrs {
  float deviations = 0;  // the quantile, of the standard normal distribution
  static constexpr auto fields() {
    return std::tuple{field("deviations", &GaussianTopKAttrs::deviations)};
  }
};

extern const OpDef kGaussianTopK;
Tensor gaussian_top_k(Tensor x, float deviations,
                      SourceLine where = std::source_location::current());

}  // namespace weft

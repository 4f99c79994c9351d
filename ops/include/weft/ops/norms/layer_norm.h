#pragma once
// y[.., d] = (x[.., d] - m) / sqrt(v + eps) over the last dimension D (a row, or a head), with m =
// mean_d(x[.., :]) and v = mean_d((x[.., :] - m)^2).
//   x f32     y like x, may run in place
// For a norm with a weight and a bias, a mul and an add follow.
// Source: Ba et al. 2016, arXiv:1607.06450.

#include <source_location>
#include <span>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct LayerNormAttrs {
  float eps = 0;  // positive
  static constexpr auto fields() { return std::tuple{field("eps", &LayerNormAttrs::eps)}; }
};

// The definition of a row: y[d] = (x[d] - mean) * factor, in double. REQUIRES: x is not empty.
struct RowMoments {
  double mean = 0, factor = 0;
  double magnitude = 0;  // the largest |x|
};
RowMoments moments_of(std::span<const float> x, double eps);

extern const OpDef kLayerNorm;
Tensor layer_norm(Tensor x, float eps, SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// y[.., d] = x[.., d] / sqrt(mean_d(x[.., :]^2) + eps), over the last dimension (a row of [T, D], a
// head of [T, H, E]).
//   x f32     y like x, may run in place
// rms_norm(x, w, eps) is mul(rms_norm(x, eps), w); the pass fuse_norm_scale fuses the two.
// Source: Zhang & Sennrich 2019, arXiv:1910.07467.

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct RmsNormAttrs {
  float eps = 0;
  static constexpr auto fields() { return std::tuple{field("eps", &RmsNormAttrs::eps)}; }
};

extern const OpDef kRmsNorm;
Tensor rms_norm(Tensor x, float eps, SourceLine where = std::source_location::current());
Tensor rms_norm(Tensor x, Tensor w, float eps, SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// y = positive * x^2 + beta * x                                    if x > 0
//   = negative * (exp(min(x, limit)) - 1 - x) + beta * x           otherwise
//   x f32 of any shape     y like x, may run in place
// Source: Huang & Schlag 2024, arXiv:2411.13010 (there `positive` and `negative` are functions of
// the parameters alpha_p and alpha_n, and `limit` is close to 0).

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct XieluAttrs {
  float positive = 0, negative = 0, beta = 0, limit = 0;  // finite
  static constexpr auto fields() {
    using A = XieluAttrs;
    return std::tuple{field("positive", &A::positive), field("negative", &A::negative),
                      field("beta", &A::beta), field("limit", &A::limit)};
  }
};

extern const OpDef kXielu;
Tensor xielu(Tensor x, const XieluAttrs& attrs, SourceLine where = std::source_location::current());

}  // namespace weft

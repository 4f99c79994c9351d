#pragma once
// y = min(max(x, low), high); NaN stays NaN.
//   x f32 of any shape     y like x, may run in place

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ClampAttrs {
  float low = 0, high = 0;  // low <= high; either may be infinite
  static constexpr auto fields() {
    return std::tuple{field("low", &ClampAttrs::low), field("high", &ClampAttrs::high)};
  }
};

extern const OpDef kClamp;
Tensor clamp(Tensor x, float low, float high, SourceLine where = std::source_location::current());

}  // namespace weft

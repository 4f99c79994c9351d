#pragma once
// y = x * factor.     x f32 of any shape     y like x, may run in place

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ScaleAttrs {
  float factor = 1;
  static constexpr auto fields() { return std::tuple{field("factor", &ScaleAttrs::factor)}; }
};

extern const OpDef kScale;
Tensor scale(Tensor x, float factor, SourceLine where = std::source_location::current());

}  // namespace weft

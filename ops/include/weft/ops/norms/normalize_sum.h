#pragma once
// y[.., i] = x[.., i] / max(sum_j x[.., j], min) over the last dimension.
//   x f32     y like x, may run in place

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct NormalizeSumAttrs {
  float min = 0x1p-14f;  // positive; the smallest normal number of F16
  static constexpr auto fields() { return std::tuple{field("min", &NormalizeSumAttrs::min)}; }
};

extern const OpDef kNormalizeSum;
Tensor normalize_sum(Tensor x, const NormalizeSumAttrs& attrs = {},
                     SourceLine where = std::source_location::current());

}  // namespace weft

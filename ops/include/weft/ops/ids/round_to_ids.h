#pragma once
// y[t, k] = the whole number nearest to x[t, k], away from 0 if two are, within 0 .. max; 0 for
// NaN.
//   x [T, K] f32     y [T, K] i32

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct RoundToIdsAttrs {
  std::int32_t max = 0;  // at least 0
  static constexpr auto fields() { return std::tuple{field("max", &RoundToIdsAttrs::max)}; }
};

extern const OpDef kRoundToIds;
Tensor round_to_ids(Tensor x, std::int32_t max, SourceLine where = std::source_location::current());

}  // namespace weft

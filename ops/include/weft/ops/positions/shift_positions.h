#pragma once
// Positions near those of a step's tokens:
//   y[t] = clamp(floor((pos[t] + offset) / step) * step, 0, limit[t])
//   pos, y [T] i32     limit [T] i32, at least 0 (the caller checks); 2^31 - 1 if it is absent
// For the first and last positions of a token that attends to neighbours on both sides, or to its
// own chunk of positions.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ShiftAttrs {
  std::int32_t offset = 0;
  std::int32_t step = 1;  // at least 1
  static constexpr auto fields() {
    return std::tuple{field("offset", &ShiftAttrs::offset), field("step", &ShiftAttrs::step)};
  }
};

extern const OpDef kShiftPositions;  // inputs: pos, limit?
Tensor shift_positions(Tensor pos, const ShiftAttrs& attrs, Tensor limit = {},
                       SourceLine where = std::source_location::current());

}  // namespace weft

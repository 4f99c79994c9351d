#pragma once
// Positions near those of a step's tokens:
//   y[t] = clamp(floor((pos[t] + offset) / step) * step, 0, limit[t])
//   pos, y [T] i32     limit [T] i32, optional: no upper end without it
// What a token sees that looks at neighbours on both sides, or at its own chunk of positions.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ShiftAttrs {
  std::int32_t offset = 0;
  std::int32_t step = 1;
  static constexpr auto fields() {
    return std::tuple{field("offset", &ShiftAttrs::offset), field("step", &ShiftAttrs::step)};
  }
};

extern const OpDef kShiftPositions;  // inputs: pos, limit?
Tensor shift_positions(Tensor pos, const ShiftAttrs& attrs, Tensor limit = {},
                       std::source_location where = std::source_location::current());

}  // namespace weft

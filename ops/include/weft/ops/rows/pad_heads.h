#pragma once
// y[t, h, :] = x[t, h, :], then zeros: every head gets `width` elements.
//   x [T, H, E] f32     y [T, H, width] f32

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct PadHeadsAttrs {
  std::int64_t width = 0;  // at least E
  static constexpr auto fields() { return std::tuple{field("width", &PadHeadsAttrs::width)}; }
};

extern const OpDef kPadHeads;
Tensor pad_heads(Tensor x, std::int64_t width, SourceLine where = std::source_location::current());

}  // namespace weft

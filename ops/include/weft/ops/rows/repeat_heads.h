#pragma once
// y[t, h, :] = x[t, h / (H / G), :]: each of G heads for H / G heads in succession.
//   x [T, G, E] f32     y [T, H, E] f32, H a multiple of G

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct RepeatHeadsAttrs {
  std::int64_t n_heads = 0;  // H
  static constexpr auto fields() {
    return std::tuple{field("n_heads", &RepeatHeadsAttrs::n_heads)};
  }
};

extern const OpDef kRepeatHeads;
Tensor repeat_heads(Tensor x, std::int64_t n_heads,
                    SourceLine where = std::source_location::current());

}  // namespace weft

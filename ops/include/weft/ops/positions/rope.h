#pragma once
// Rotates the first R elements of every head by the step's angles; the rest passes through.
//   x [T, H, E] f32     angles [T, R] f32 from rope_angles, R <= E
//   y like x, may run in place over x
//   adjacent: pair i is (x[2i], x[2i + 1])     halves: pair i is (x[i], x[i + R / 2])
//   (a, b) -> (a cos - b sin, a sin + b cos)

#include <array>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

enum class RopePairs : std::uint8_t { adjacent, halves };
std::string_view to_string(RopePairs pairs);
constexpr std::array<RopePairs, 2> all_values(RopePairs) {
  return {RopePairs::adjacent, RopePairs::halves};
}

struct RopeApplyAttrs {
  RopePairs pairs = RopePairs::adjacent;
  static constexpr auto fields() { return std::tuple{field("pairs", &RopeApplyAttrs::pairs)}; }
};

extern const OpDef kRope;
Tensor rope(Tensor x, Tensor angles, RopePairs pairs,
            SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// y[t, h] = exp(-rate * 2^(-8 (h + 1) / H)): by how much the state of each of H heads fades from
// one token to the next, the same for every token.
//   pos [T] i32, used only for its size T     y [T, H] f32
// Source: Qin et al. 2024, arXiv:2401.04658; the slopes are those of ALiBi (Press et al. 2022,
// arXiv:2108.12409).

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct HeadDecayAttrs {
  std::int32_t heads = 1;  // H, at least 1
  float rate = 1;          // positive
  static constexpr auto fields() {
    return std::tuple{field("heads", &HeadDecayAttrs::heads), field("rate", &HeadDecayAttrs::rate)};
  }
};

// The factor of head h.
float head_decay_factor(const HeadDecayAttrs& attrs, std::int64_t h);

extern const OpDef kHeadDecay;
Tensor head_decay(Tensor pos, const HeadDecayAttrs& attrs,
                  SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// y[t, n] = act(sum_k x[t, k] * gate[n, k]) * sum_k x[t, k] * up[n, k]
// The first half of a gated feed-forward layer as one node.
//   x [T, K] f32 or Q8A     gate, up [N, K] any format     y [T, N] f32
// Made by the pass fuse_gate_up; equals mul(act(linear(x, gate)), linear(x, up)).
// Source of SwiGLU: Shazeer 2020, arXiv:2002.05202.

#include <array>
#include <string_view>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

enum class Activation : std::uint8_t { silu };
std::string_view to_string(Activation a);
constexpr std::array<Activation, 1> all_values(Activation) {
  return {Activation::silu};
}

struct GatedLinearAttrs {
  Activation act = Activation::silu;
  static constexpr auto fields() { return std::tuple{field("act", &GatedLinearAttrs::act)}; }
};

extern const OpDef kGatedLinear;  // inputs: x, gate, up

}  // namespace weft

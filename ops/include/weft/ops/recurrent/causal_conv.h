#pragma once
// A short convolution along the tokens of each sequence, separately for every channel:
//   y[t, c] = bias[c] + sum_j w[c, j] * x[t - (K - 1) + j, c],   j = 0 .. K - 1
// where t - 1 is the previous token of the sequence. Tokens before the step come from the state:
// row r holds the last K - 1 inputs of a sequence, state[r, c, i] = x[i - (K - 1), c] counted from
// its next token. Inputs before the first token are 0.
//
//   x [T, C] f32     w [C, K] of any format, K >= 2     bias [C] f32, optional
//   state [R, C, K - 1] f32, from, before, to [T] i32: state_rows.h
//   y [T, C] f32
//
// `causal_conv` makes this form; the form that returns silu(y) comes from the pass fuse_conv_silu.
//
// Source: Gu & Dao 2023, arXiv:2312.00752, section 3.4 (the short convolution of H3 and Mamba).

#include <cstddef>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

// Indices of the inputs of kCausalConv.
namespace causal_conv_inputs {
enum Index : std::size_t { kX, kW, kBias, kState, kFrom, kBefore, kTo };
}  // namespace causal_conv_inputs

struct CausalConvAttrs {
  bool silu = false;
  static constexpr auto fields() { return std::tuple{field("silu", &CausalConvAttrs::silu)}; }
};

extern const OpDef kCausalConv;
Tensor causal_conv(Tensor x, Tensor w, Tensor bias, const StateRows& rows,
                   SourceLine where = std::source_location::current());

}  // namespace weft

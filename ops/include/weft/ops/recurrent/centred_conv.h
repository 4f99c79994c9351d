#pragma once
// A short convolution along the tokens of each sequence, separately for every channel, with the
// same number of taps on both sides of the token:
//   y[t, c] = sum_j w[c, j] * x[t + j - (K - 1) / 2, c],   j = 0 .. K - 1
// where t + 1 is the next token of the sequence in this step. Tokens outside of the step count as
// 0, so that a sequence must be in one step as a whole.
//
//   x [T, C] f32     w [C, K] of any format, K odd     before [T] i32: state_rows.h     y [T, C]
//   f32
//
// Source: Liquid AI 2026, https://huggingface.co/LiquidAI/LFM2.5-Embedding-350M (the short
// convolution of encoders).

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kCentredConv;  // inputs: x, w, before
Tensor centred_conv(Tensor x, Tensor w, Tensor before,
                    SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// Pools the tokens of each span of successive positions of a sequence into one row, by a softmax of
// their own for every element. With P = 2, a span takes part in its own pool with the second half
// of its rows, and in the pool of the next span with the first half; in general, part i of P of a
// token in span b belongs to pool b + P - 1 - i:
//   y[t, e] = sum x[s, i E + e] w[s, i, e],   w = softmax over (s, i) of scores[s, i E + e]
// where b = pos[t] / span, rounded down, and (s, i) are the parts of pool b with s up to t. So the
// last token of a span has the row of its whole pool.
//
//   x, scores [T, P E] f32     pos [T] i32: consecutive within a sequence, from 0 on
//   state [R, E, P, 3] f32, from, before, to [T] i32: state_rows.h
//   y [T, E] f32
//
// The state has the pools of the current span and of the P - 1 next ones: for each element the
// largest score so far, the sum of exp(score - largest) (0 if the pool is empty, else at least 1)
// and that of exp(score - largest) x. They are rounded to f32 after every token: the result does
// not depend on how many tokens a step has. Sources: DeepSeek-AI 2026, DeepSeek-V4 (compressed
// attention); the running softmax: Milakov & Gimelshein 2018, arXiv:1805.02867.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"
#include "weft/graph/view.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

struct PoolTokensAttrs {
  std::int32_t span = 1;   // positions, at least 1
  std::int32_t parts = 1;  // P, at least 1
  static constexpr auto fields() {
    using A = PoolTokensAttrs;
    return std::tuple{field("span", &A::span), field("parts", &A::parts)};
  }
};

// The definition of element e of token t. `pools` [P, 3] is the state of this element, which it
// advances. Returns y.
float pool_token(const PoolTokensAttrs& attrs, Views in, std::int64_t t, std::int64_t e,
                 float* pools) noexcept;

// Indices of the inputs of kPoolTokens.
namespace pool_tokens_inputs {
enum Index : std::size_t { kX, kScores, kPos, kState, kFrom, kBefore, kTo };
}  // namespace pool_tokens_inputs

extern const OpDef kPoolTokens;
Tensor pool_tokens(Tensor x, Tensor scores, Tensor pos, const PoolTokensAttrs& attrs,
                   const StateRows& rows, SourceLine where = std::source_location::current());

}  // namespace weft

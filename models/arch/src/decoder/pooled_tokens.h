#pragma once
// Vectors for spans of tokens, and rope on the last elements of heads, whose rotation attention
// undoes in its result.
// Source: DeepSeek-AI 2026, DeepSeek-V4 (compressed attention).

#include <string>

#include "weft/arch/blocks.h"
#include "weft/ops/positions/rope_angles.h"

namespace weft::arch {

// The angles of tokens, their negatives, and those of the first tokens of their spans.
struct SpanAngles {
  Tensor rotate, unrotate, span_start;  // [T, R]; with a span of 0, `span_start` is empty
};
SpanAngles span_angles(Tensor pos, const RopeAttrs& attrs, std::int64_t span);

// Rotates the last elements of every head of x [T, H, E].
Tensor rotate_last(Tensor x, Tensor angles);

struct SpanPool {
  std::string name;        // prefix of the tensors NAME_{kv, gate, ape, norm}
  std::int64_t E = 1;      // width of its vectors
  std::int64_t span = 1;   // tokens per vector
  std::int64_t parts = 1;  // P of ops/rows/pool_tokens.h: the spans that a token takes part in
};
// A vector for the span of each token of x [T, D], of its tokens up to this one: [T, 1, E].
Tensor pool_span(const Layer& l, const SpanPool& pool, Tensor angles, Tensor x);

}  // namespace weft::arch

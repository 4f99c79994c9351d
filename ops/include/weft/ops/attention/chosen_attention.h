#pragma once
// Attention to chosen positions of the run. As attention (attention.h), but s is one of
// first[t] .. last[t] only if s / span, rounded down, is one of the numbers chosen[t, c, :] with
// c = h / (H / C). If that leaves no position, y is 0.
//
//   q, k, v, table, table_row, first, last, y: as for attention
//   chosen [T, C, K] i32: different numbers in ascending order, as choose_positions gives them;
//   negative ones are skipped. C is a divisor of H
//   sinks [H] f32, optional: exp(sinks[h]) is added to the sum that softmax divides by
//
// If all positions are chosen, the definition gives the bits of attention.
// Sources: DeepSeek-AI 2025, arXiv:2512.02556, section 2.1; spans: MiniMax 2026,
// https://huggingface.co/MiniMaxAI.

#include <source_location>
#include <tuple>

#include "weft/ops/attention/attention.h"

namespace weft {

struct ChosenAttentionAttrs {
  float scale = 1;
  std::int32_t span = 1;  // consecutive positions per number, at least 1
  static constexpr auto fields() {
    return std::tuple{field("scale", &ChosenAttentionAttrs::scale),
                      field("span", &ChosenAttentionAttrs::span)};
  }
};

extern const OpDef
    kChosenAttention;  // inputs: q, k, v, table, table_row, first, last, chosen, sinks?
Tensor chosen_attention(Tensor q, Tensor k, Tensor v, const AttentionRuns& runs, Tensor chosen,
                        const ChosenAttentionAttrs& attrs, Tensor sinks = {},
                        SourceLine where = std::source_location::current());

}  // namespace weft

#pragma once
// Chooses the positions of its sequence that each token should attend to, by the scores of an
// indexer: small heads of queries, and one small key per position. The positions first[t] ..
// last[t] (none if last[t] = first[t] - 1) are taken by spans; position s is in span s / span,
// rounded down.
//
//   score[t, c, s] = sum_h weights[t, h] * max(q[t, h, :] . k[s, :], 0)   with weights: C = 1
//   score[t, c, s] = q[t, c, :] . k[s, :]                                 without:      C = H
//   A span scores as much as the best of its positions that is in the run.
//
// chosen[t, c, :] are the numbers of the K best spans in ascending order; if there are fewer, -1
// fills the rest. The last `always` spans are better than the others, the later the better; others
// are compared by their scores, NaN as -infinity. Scores are often equal (all heads may give 0), so
// ties have a rule: that of std::partial_sort in libstdc++, on which reference engines rely.
//
//   q [T, H, E] f32     weights [T, H] f32, optional     chosen [T, C, K'] i32
//   k [B, 1, 64, E]: a cache (cache_cells.h)
//   table [Q, M], table_row, first, last [T] i32: as for attention (attention.h)
//   K' = min(K, the spans of 64 M positions)
//
// Scores are sums in double, rounded to f32. Spans enter a heap of K: the first K, then each that
// is better than the worst one, which it replaces at the root (Wegener 1993, bottom-up sifting).
// Sources: with weights: DeepSeek-AI 2025, arXiv:2512.02556, section 2.1; without, by spans:
// MiniMax 2026, https://huggingface.co/MiniMaxAI.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/ops/attention/attention.h"

namespace weft {

struct ChoosePositionsAttrs {
  std::int32_t k = 1;       // at least 1
  std::int32_t span = 1;    // positions of a span, at least 1
  std::int32_t always = 0;  // at least 0
  static constexpr auto fields() {
    using A = ChoosePositionsAttrs;
    return std::tuple{field("k", &A::k), field("span", &A::span), field("always", &A::always)};
  }
};

extern const OpDef kChoosePositions;  // inputs: q, k, table, table_row, first, last, weights?
Tensor choose_positions(Tensor q, Tensor k, const AttentionRuns& runs,
                        const ChoosePositionsAttrs& attrs, Tensor weights = {},
                        SourceLine where = std::source_location::current());

}  // namespace weft

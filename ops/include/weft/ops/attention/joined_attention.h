#pragma once
// Attention to two runs of cells in one softmax: those of the token's last positions, and those of
// another cache with positions of its own, such as pooled tokens. As attention (attention.h) with
// vectors that are both key and value, for one kv head:
//   y[t, h, :] = sum_s p[s] c[s, :],  p = softmax_s(scale * q[t, h, :] . c[s, :])
// where s is every cell of both runs, the second one reduced to the chosen positions.
//
//   q [T, H, E] f32 or Q8A     y [T, H, E] f32     table_row [T] i32     H >= 1, E whole blocks of
//   k k [B, 1, 64, E], table [Q, M], first, last [T] i32: the first run, not empty, of at most
//     `window` positions (the caller checks)
//   k2 [B2, 1, 64, E], table2 [Q, M2], first2, last2 [T] i32: the second run. It is empty if
//     last2[t] = first2[t] - 1
//   chosen [T, 1, K] i32, optional: which positions of the second run, as choose_positions gives
//     them with spans of 1: ascending, -1 for none
//   sinks [H] f32, optional: exp(sinks[h]) is added to the sum that softmax divides by
//   k and k2 are of one type
//
// Source: DeepSeek-AI 2026, DeepSeek-V4 (compressed attention beside a window).

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/ops/attention/attention.h"

namespace weft {

struct JoinedAttentionAttrs {
  float scale = 1;
  std::int32_t window = 1;  // at least 1
  static constexpr auto fields() {
    return std::tuple{field("scale", &JoinedAttentionAttrs::scale),
                      field("window", &JoinedAttentionAttrs::window)};
  }
};

// The cells of a run, and those of them that count; without `chosen`, all.
struct LatentRun {
  Tensor cells;
  AttentionRuns runs;
  Tensor chosen;
};

// Indices of the inputs of kJoinedAttention.
namespace joined_attention_inputs {
enum Index : std::size_t {
  kQ,
  kK,
  kTable,
  kTableRow,
  kFirst,
  kLast,
  kK2,
  kTable2,
  kFirst2,
  kLast2,
  kChosen,  // optional
  kSinks    // optional
};
}  // namespace joined_attention_inputs

extern const OpDef kJoinedAttention;
// The table_row of both runs is that of the first.
Tensor joined_attention(Tensor q, const LatentRun& window, const LatentRun& more,
                        const JoinedAttentionAttrs& attrs, Tensor sinks = {},
                        SourceLine where = std::source_location::current());

}  // namespace weft

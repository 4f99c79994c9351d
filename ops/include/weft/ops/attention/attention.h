#pragma once
// Scaled dot-product attention of each token over a run of positions of its sequence; query heads
// share the key/value heads of their group:
//   y[t, h, :] = sum_s p[s] v[s, g, :],  p = softmax_s(scale * q[t, h, :] . k[s, g, :])
//   with s = first[t] .. last[t] and g = h / (H / G)
//
//   q [T, H, E] f32 or Q8A     y [T, H, E'] f32
//   k [B, G, 64, E]     v [B, G, 64, E']     pools of B blocks of 64 cells (cache_cells.h). Each
//   is of one of cache_types(); E and E' are whole blocks of their type
//   table [Q, M] i32: the blocks of Q sequences. Position s of the sequence in row r is cell
//   s % 64 of block table[r, s / 64], a number below B. Entries that no run needs may be anything
//   table_row [T] i32: each token's row of the table
//   first, last [T] i32: positions, 0 <= first <= last < 64 M (the caller checks all of these)
//
// Causal language models pass last = the token's own position. Implementations process s in blocks
// of positions, so that the result depends neither on how many tokens a step has nor on where the
// blocks are.
// Sources: Vaswani et al. 2017, arXiv:1706.03762; grouped heads: Ainslie et al. 2023,
// arXiv:2305.13245; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867.
//
// biased_attention is the same with other scores. With x = scale * q[t, h, :] . k[s, g, :] and
// d = s - pos[t], p is the softmax over s of
//   softcap * tanh(x / softcap) - slope[h] * |d| + distances[r + min(max(d, -r), r), h]
//
//   softcap: if it is 0, the first term is x
//   alibi: if it is 0, the second term is absent. Otherwise, with n the largest power of two up to
//   H, slope[h] = 2^(-alibi (h + 1) / n) if h < n, else 2^(-alibi (2 (h - n) + 1) / (2 n))
//   distances [2 r + 1, H] f32, optional: if it is absent, so is the third term
//   sinks [H] f32, optional: exp(sinks[h]) is added to the sum that softmax divides by
//   pos [T] i32, optional: last if it is absent
// Sources: softcap: Gemma Team 2024, arXiv:2408.00118; ALiBi: Press et al. 2021, arXiv:2108.12409;
// distances: Raffel et al. 2019, arXiv:1910.10683; sinks: OpenAI 2025, arXiv:2508.10925.

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct AttentionAttrs {
  float scale = 1;
  static constexpr auto fields() { return std::tuple{field("scale", &AttentionAttrs::scale)}; }
};
struct BiasedAttentionAttrs {
  float scale = 1;
  float softcap = 0;
  float alibi = 0;
  static constexpr auto fields() {
    using A = BiasedAttentionAttrs;
    return std::tuple{field("scale", &A::scale), field("softcap", &A::softcap),
                      field("alibi", &A::alibi)};
  }
};

extern const OpDef kAttention;        // inputs: q, k, v, table, table_row, first, last
extern const OpDef kBiasedAttention;  // inputs: the same, then pos?, sinks?, distances?

// Which positions each token attends to, and which blocks hold them.
struct AttentionRuns {
  Tensor table, table_row, first, last;
};
// The bias of biased_attention.
struct AttentionBias {
  float softcap = 0, alibi = 0;
  Tensor pos, sinks, distances;
};
// biased_attention if the bias has anything to add.
Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionRuns& runs,
                 const AttentionAttrs& attrs, const AttentionBias& bias = {},
                 SourceLine where = std::source_location::current());

}  // namespace weft

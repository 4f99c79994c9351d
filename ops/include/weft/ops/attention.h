#pragma once
// Scaled dot-product attention of each token over a run of cells of the caches; query heads share
// the key/value heads of their group:
//   y[t, h, :] = sum_s p[s] v[s, g, :],  p = softmax_s(scale * q[t, h, :] . k[s, g, :])
//   with s = first[t] .. last[t] and g = h / (H / G)
//
//   q [T, H, E] f32 or Q8A     y [T, H, E'] f32
//   k [B, G, 64, E]     v [B, G, 64, E']     of S = 64 B cells; k[s, g, :] lies where cell_place()
//   of cache_cells.h says; of cache_types(), each its own; E and E' whole blocks of it
//   first, last [T] i32, 0 <= first <= last < S (the caller checks)
//
// Causal language models pass last = the token's own cell. Implementations go through s in the
// blocks of the cache, so that the result does not depend on how many tokens a step has, nor on
// where a run lies, as long as first[t] is as far from the beginning of its block.
// Sources: Vaswani et al. 2017, arXiv:1706.03762; grouped heads: Ainslie et al. 2023,
// arXiv:2305.13245; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867.

#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct AttentionAttrs {
  float scale = 1;
  static constexpr auto fields() { return std::tuple{field("scale", &AttentionAttrs::scale)}; }
};

extern const OpDef kAttention;  // inputs: q, k, v, first, last
Tensor attention(Tensor q, Tensor k, Tensor v, Tensor first, Tensor last,
                 const AttentionAttrs& attrs,
                 std::source_location where = std::source_location::current());

}  // namespace weft

#pragma once
// Scaled dot-product attention of each token over a run of cache rows; query heads share the
// key/value heads of their group:
//   y[t, h, :] = sum_s p[s] v[s, g, :],  p = softmax_s(scale * q[t, h, :] . k[s, g, :])
//   with s = first[t] .. last[t] and g = h / (H / G)
//
//   q [T, H, E] f32     k [S, G, E]     v [S, G, E']     y [T, H, E'] f32
//   k and v of any type that cache_write writes, each its own; E and E' whole blocks of it
//   first, last [T] i32, 0 <= first <= last < S (the caller checks)
//
// Causal language models pass last = the token's own cell. Implementations go through s in blocks
// counted from first[t], so that the result does not depend on how many tokens a step has.
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

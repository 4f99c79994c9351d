#pragma once
// ids[t, :] are the columns i of the k largest values scores[t, i] + bias[i], the largest first. Of
// equal values the lower column comes first; NaN counts as -infinity.
//   scores [T, X] f32     bias [X] f32, optional     ids [T, k] i32
// If used_groups < n_groups, the columns form n_groups groups of X / n_groups neighbours, and only
// columns of the used_groups best groups are taken. A group is as good as the sum of its two
// largest values, or as its value if it has one; of equal groups the lower one is better. All sums
// are rounded to f32, so that every implementation sees the same ties.
// Source of the groups: DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct TopKAttrs {
  std::int32_t k = 1;            // at least 1
  std::int32_t n_groups = 1;     // divides X
  std::int32_t used_groups = 1;  // 1 .. n_groups; they have at least k columns
  static constexpr auto fields() {
    return std::tuple{field("k", &TopKAttrs::k), field("n_groups", &TopKAttrs::n_groups),
                      field("used_groups", &TopKAttrs::used_groups)};
  }
};

extern const OpDef kTopK;  // inputs: scores, bias?
Tensor top_k(Tensor scores, const TopKAttrs& attrs, Tensor bias = {},
             SourceLine where = std::source_location::current());

}  // namespace weft

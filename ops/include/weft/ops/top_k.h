#pragma once
// ids[t, :] are the columns i of the k largest scores[t, i] + bias[i], the largest first; of equals
// the lower column comes first.
//   scores [T, X] f32     bias [X] f32, optional     ids [T, k] i32
// With n_groups > 1 the columns are groups of X / n_groups neighbours. Only those of the
// used_groups best groups are considered; a group is as good as the sum of its two largest values.
// Source of the groups: DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct TopKAttrs {
  std::int32_t k = 1;
  std::int32_t n_groups = 1;     // divides X
  std::int32_t used_groups = 1;  // of which k columns can be taken
  static constexpr auto fields() {
    return std::tuple{field("k", &TopKAttrs::k), field("n_groups", &TopKAttrs::n_groups),
                      field("used_groups", &TopKAttrs::used_groups)};
  }
};

extern const OpDef kTopK;  // inputs: scores, bias?
Tensor top_k(Tensor scores, const TopKAttrs& attrs, Tensor bias = {},
             std::source_location where = std::source_location::current());

}  // namespace weft

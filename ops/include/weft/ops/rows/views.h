#pragma once
// Ops that view the same memory with another shape. They cost nothing at run time.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ReshapeAttrs {
  std::int64_t inner = 0;  // 0: [T, D] (a vector: [1, D]), else [T, D / inner, inner]
  static constexpr auto fields() { return std::tuple{field("inner", &ReshapeAttrs::inner)}; }
};
extern const OpDef kReshape;
// [T, H * E] -> [T, H, E]. Throws ShapeError if n_heads does not divide the row.
Tensor split_heads(Tensor x, std::int64_t n_heads,
                   SourceLine where = std::source_location::current());
// [T, H, E] -> [T, H * E], also of more dimensions; a vector [D] -> [1, D].
Tensor merge_heads(Tensor x, SourceLine where = std::source_location::current());

struct SliceAttrs {
  std::int64_t begin = 0, end = 0;  // columns of a tensor of two dimensions, whole blocks
  static constexpr auto fields() {
    return std::tuple{field("begin", &SliceAttrs::begin), field("end", &SliceAttrs::end)};
  }
};
extern const OpDef kSlice;
// Columns [begin, end) of x [T, D].
Tensor slice(Tensor x, std::int64_t begin, std::int64_t end,
             SourceLine where = std::source_location::current());

}  // namespace weft

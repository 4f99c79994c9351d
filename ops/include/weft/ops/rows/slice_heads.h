#pragma once
// y[t, h, :] = x[t, h, begin .. end - 1]: a part of every head, copied.
//   x [T, H, E] f32     y [T, H, end - begin] f32

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct SliceHeadsAttrs {
  std::int64_t begin = 0, end = 0;  // 0 <= begin < end <= E
  static constexpr auto fields() {
    return std::tuple{field("begin", &SliceHeadsAttrs::begin), field("end", &SliceHeadsAttrs::end)};
  }
};

extern const OpDef kSliceHeads;
Tensor slice_heads(Tensor x, std::int64_t begin, std::int64_t end,
                   SourceLine where = std::source_location::current());

}  // namespace weft

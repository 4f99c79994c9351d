#pragma once
// y = x, in another memory: the seam between nodes that run on different devices. Memories are
// numbered: 0 is the host's, the others are those of the devices of a plan.
//   x any type, rows may have gaps between them     y like x, without gaps
// No model has it: routing puts it where data has to move.

#include <cstdint>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct CopyAttrs {
  std::int32_t from = 0, to = 0;
  static constexpr auto fields() {
    return std::tuple{field("from", &CopyAttrs::from), field("to", &CopyAttrs::to)};
  }
};

extern const OpDef kCopy;

}  // namespace weft

#pragma once
// y = x, in another memory. Connects nodes that run on different devices.
//   x any type, rows may have gaps between them     y like x, without gaps
// Inserted by place_copies() (scheduler/routing.h); models do not use it.

#include <tuple>

#include "weft/graph/memory_id.h"
#include "weft/graph/tensor.h"

namespace weft {

struct CopyAttrs {
  MemoryId from = MemoryId::host, to = MemoryId::host;
  static constexpr auto fields() {
    return std::tuple{field("from", &CopyAttrs::from), field("to", &CopyAttrs::to)};
  }
};

extern const OpDef kCopy;

}  // namespace weft

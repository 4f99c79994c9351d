#pragma once
// y[t] = the remainder of ids[t] / divisor: the place of a position in its span.
//   ids [T] or [T, K] i32, at least 0 (the caller checks)     y like ids, may run in place

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct RemainderIdsAttrs {
  std::int32_t divisor = 1;  // at least 1
  static constexpr auto fields() {
    return std::tuple{field("divisor", &RemainderIdsAttrs::divisor)};
  }
};

extern const OpDef kRemainderIds;
Tensor remainder_ids(Tensor ids, std::int32_t divisor,
                     SourceLine where = std::source_location::current());

}  // namespace weft

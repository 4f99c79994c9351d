#pragma once
// y[t, k] = floor(ids[t, k] / divisor): the group of each id, if groups have `divisor` neighbours.
//   ids [T, K] i32, at least 0 (the caller checks)     y like ids, may run in place

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct DivideIdsAttrs {
  std::int32_t divisor = 1;  // at least 1
  static constexpr auto fields() { return std::tuple{field("divisor", &DivideIdsAttrs::divisor)}; }
};

extern const OpDef kDivideIds;
Tensor divide_ids(Tensor ids, std::int32_t divisor,
                  SourceLine where = std::source_location::current());

}  // namespace weft

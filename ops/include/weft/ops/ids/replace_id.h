#pragma once
// y[t] = to if ids[t] = from, else otherwise[t].
//   ids, otherwise, y [T] i32
// A chain of these, each one the `otherwise` of the next, replaces several ids.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ReplaceIdAttrs {
  std::int32_t from = 0, to = 0;
  static constexpr auto fields() {
    return std::tuple{field("from", &ReplaceIdAttrs::from), field("to", &ReplaceIdAttrs::to)};
  }
};

extern const OpDef kReplaceId;  // inputs: ids, otherwise
Tensor replace_id(Tensor ids, Tensor otherwise, const ReplaceIdAttrs& attrs,
                  SourceLine where = std::source_location::current());

}  // namespace weft

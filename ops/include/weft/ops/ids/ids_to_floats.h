#pragma once
// y[t, :] = ids[t], `width` times: ids as numbers that attention can average.
//   ids [T] i32, at most 2^24 in magnitude, beyond which f32 rounds     y [T, width] f32

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct IdsToFloatsAttrs {
  std::int64_t width = 1;  // at least 1
  static constexpr auto fields() { return std::tuple{field("width", &IdsToFloatsAttrs::width)}; }
};

extern const OpDef kIdsToFloats;
Tensor ids_to_floats(Tensor ids, std::int64_t width,
                     SourceLine where = std::source_location::current());

}  // namespace weft

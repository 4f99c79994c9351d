#pragma once
// y[t, k] = table[ids[t], k], as a whole number within 0 .. max: rows of a table of ids.
//   table [N, K] i32, or f32, which is rounded to the nearest whole numbers (round_to_ids.h)
//   ids [T] i32, 0 <= id < N (an id outside gives a row of 0)
//   y [T, K] i32

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"
#include "weft/graph/view.h"

namespace weft {

struct GetIdsAttrs {
  std::int32_t max = 0;  // at least 0
  static constexpr auto fields() { return std::tuple{field("max", &GetIdsAttrs::max)}; }
};

extern const OpDef kGetIds;
Tensor get_ids(Tensor table, Tensor ids, std::int32_t max,
               SourceLine where = std::source_location::current());

// The definition for one region of y, for backends that split the work. `in` is table and ids.
void get_ids_region(const GetIdsAttrs& attrs, Views in, const View& y,
                    const Region& region) noexcept;

}  // namespace weft

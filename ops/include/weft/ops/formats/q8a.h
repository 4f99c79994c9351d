#pragma once
// Q8A: activations in memory, never in files. 32 elements, x = d * q.
//   bytes 0-3: d (f32)     bytes 4-7: sum of q (i32)     bytes 8-39: q[32] (i8)     40 B per 32
// d = max|x| / 127, q = round to nearest even of x / d, 0 where d is 0. A NaN makes d one, so that
// the whole block decodes to NaN. The sum serves weights with an offset:
//   sum_k (w_k - m) q_k = sum_k w_k q_k - m * sum

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

struct Q8ABlock {
  float d;
  std::int32_t sum;
  std::int8_t q[32];
};
static_assert(sizeof(Q8ABlock) == 40 && offsetof(Q8ABlock, q) == 8);

inline constexpr DTypeInfo kQ8AInfo{"Q8A", -1, 32, sizeof(Q8ABlock)};
inline constexpr DType q8a{&kQ8AInfo};
extern const Format kQ8AFormat;

}  // namespace weft

#pragma once
// Q8A: activations in memory, never in files. 32 elements, x = d * q.
//
//   bytes 0-3: d (f32)            bytes 4-7: dsum = d * sum(q) (f32)
//   bytes 8-11: start (i32)       bytes 12-15: start_low (i32)      bytes 16-19: start_high (i32)
//   bytes 20-51: q[32] (i8)       52 B per 32
//
// d = max|x| / 127, q = round to nearest even of x / d, or 0 if d is 0. A NaN makes d a NaN, so
// that the whole block decodes to NaN. The sums are for kernels. Weights with a minimum need
// sum_k m * x = m * dsum. Dot products of unsigned with signed bytes add an offset of 128 to signed
// weights, so their accumulators start at
//   start = -128 * sum(q),   start_low = -128 * sum(q[0..15]),   start_high = start - start_low
// With an offset of 2^i they start at start / 2^(7 - i).

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

struct Q8ABlock {
  float d;
  float dsum;
  std::int32_t start;
  std::int32_t start_low;
  std::int32_t start_high;
  std::int8_t q[32];
};
static_assert(sizeof(Q8ABlock) == 52 && offsetof(Q8ABlock, q) == 20);

inline constexpr DTypeInfo kQ8AInfo{"Q8A", -1, 32, sizeof(Q8ABlock)};
inline constexpr DType q8a{&kQ8AInfo};
extern const Format kQ8AFormat;

}  // namespace weft

#pragma once
// The limits of an importance matrix.

#include <cfloat>
#include <cstdint>

namespace weft::quantize {

inline constexpr double kMaxSum = FLT_MAX;
// The largest count up to which every one is exact in a double.
inline constexpr double kMaxCount = 9007199254740992.0;  // 2^53
inline constexpr std::int64_t kMaxChunks = INT32_MAX;    // likewise tokens of a chunk

}  // namespace weft::quantize

#pragma once
// The slopes of attention with linear biases (attention.h).

#include <cstdint>

namespace weft {

// By how much the scores of head h of n_heads fall with each position of distance; alibi != 0.
double alibi_slope(double alibi, std::int64_t h, std::int64_t n_heads);

}  // namespace weft

#pragma once
// Names of the dense layers that follow pooling: dense_2.weight, dense_2.bias, ..., dense_9.bias.

namespace weft::arch {

// At most kMaxDense layers follow pooling: dense_2 to dense_9.
inline constexpr int kFirstDense = 2, kMaxDense = 8;

}  // namespace weft::arch

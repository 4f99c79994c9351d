#pragma once
// y[t, h, :] = H x[t, h, :]: each head times the same matrix, which is orthogonal and its own
// inverse. It spreads what stands out in a few elements over many, and changes no dot product of
// two heads.
//   x [T, H, E] f32     y like x, may run in place
//
// The elements are cut into parts, each the largest power of two, at most 256, that fits into the
// rest: 128 are one part, 80 are 64 + 16. A part of n elements is multiplied by the Hadamard matrix
// in Sylvester's order:
//   y[i] = sum_j (-1)^popcount(i & j) x[j] / sqrt(n)
// Implementations add up pairs at the distances 1, 2, 4, .., n / 2, then multiply by f32(1 /
// sqrt(n)), so all have the same bits.
// Source: Sylvester 1867; before quantization: Ashkboos et al. 2024, arXiv:2404.00456.

#include <cstdint>
#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

inline constexpr std::int64_t kMaxHadamardPart = 256;

// The part that begins where `rest` elements are left; rest >= 1.
std::int64_t hadamard_part(std::int64_t rest);

extern const OpDef kHadamard;
Tensor hadamard(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft

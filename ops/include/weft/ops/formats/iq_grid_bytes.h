#pragma once
// Grids of the IQ formats for kernels that look up 64 points at once. Each point has two bytes: the
// first array holds the first byte of all points, the second array the other one. The bytes hold
// indices into the grid's values. With 4 coordinates per point (IQ3), a byte holds two of them, in
// bits 0-2 and 5-7. With 8 (IQ2), the first byte holds coordinates 0, 1, 4, 5 in two bits each,
// lowest bits first, and the second one holds 2, 3, 6, 7.

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

template <std::size_t kPoints>
using GridBytes = std::array<std::array<std::uint8_t, kPoints>, 2>;

alignas(64) extern const GridBytes<256> kIQ2_XXSBytes;
alignas(64) extern const GridBytes<512> kIQ2_XSBytes;
alignas(64) extern const GridBytes<256> kIQ3_XXSBytes;
alignas(64) extern const GridBytes<512> kIQ3_SBytes;

}  // namespace weft

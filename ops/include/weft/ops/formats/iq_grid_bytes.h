#pragma once
// Grids of the IQ formats for kernels that look up 64 numbers of points at once: of every point two
// bytes, those of all points one after the other, then the other ones. They say which of the grid's
// values the coordinates are. Of 4 coordinates (IQ3) each byte has two, in bits 0-2 and 5-7. Of 8
// (IQ2) the first byte has coordinates 0, 1, 4, 5 in two bits each, the lowest first, the second
// one 2, 3, 6, 7.

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

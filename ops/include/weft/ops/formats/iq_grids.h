#pragma once
// The grids of the IQ formats: lists of points with small coordinates. Blocks store indices into
// them. A point codes 8 weights (IQ1, IQ2) or 4 (IQ3). In IQ2 and IQ3 coordinates are magnitudes
// and the block stores the signs; in IQ1 coordinates are signed. Points are constants of the
// formats.
//
//   grid      points   coordinates
//   IQ2_XXS      256   8 of {8, 25, 43}
//   IQ2_XS       512   8 of {8, 25, 43}
//   IQ2_S       1024   8 of {8, 25, 43}
//   IQ3_XXS      256   4 of {4, 12, 20, 28, 36, 44, 52, 62}
//   IQ3_S        512   4 of {1, 3, 5, ... 15}
//   IQ1         2048   8 of {-1, 0, 1}
//
// Source: the tables of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

template <std::size_t kDims>
using GridPoint = std::array<std::int8_t, kDims>;

template <std::size_t kDims, std::size_t kPoints>
using Grid = std::array<GridPoint<kDims>, kPoints>;

alignas(64) extern const Grid<8, 256> kIQ2_XXSGrid;
alignas(64) extern const Grid<8, 512> kIQ2_XSGrid;
alignas(64) extern const Grid<8, 1024> kIQ2_SGrid;
alignas(64) extern const Grid<4, 256> kIQ3_XXSGrid;
alignas(64) extern const Grid<4, 512> kIQ3_SGrid;
alignas(64) extern const Grid<8, 2048> kIQ1Grid;

// The same for kernels. A point of IQ3 as one word: bits 4i .. 4i + 2 are the index of coordinate i
// in the grid's values. A point of IQ1 as unsigned coordinates: 8 * coordinate + 1 + kIQ1Raise.
template <std::size_t kPoints>
using GridNumbers = std::array<std::uint16_t, kPoints>;
inline constexpr int kIQ1Raise = 16;
alignas(64) extern const GridNumbers<256> kIQ3_XXSNumbers;
alignas(64) extern const GridNumbers<512> kIQ3_SNumbers;
alignas(64) extern const Grid<8, 2048> kIQ1Raised;

// The coordinates that a grid uses, in ascending order.
inline constexpr std::array<std::int8_t, 3> kIQ2Values{8, 25, 43};
inline constexpr std::array<std::int8_t, 8> kIQ3_XXSValues{4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::array<std::int8_t, 8> kIQ3_SValues{1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr std::array<std::int8_t, 3> kIQ1Values{-1, 0, 1};

// The values of the 4-bit codes of IQ4_NL and IQ4_XS.
inline constexpr std::array<std::int8_t, 16> kIQ4Values{-127, -104, -83, -65, -49, -35, -22, -10,
                                                        1,    13,   25,  38,  53,  69,  89,  113};

// The shift of IQ1: weights are scale * (coordinate +- kIQ1Delta).
inline constexpr float kIQ1Delta = 0.125f;

// Decodes eight signs from 7 bits: bit i is set if weight i is negative. The eighth bit makes the
// number of set bits even.
constexpr unsigned even_signs(unsigned seven) {
  unsigned odd = seven ^ seven >> 4;
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return seven | (odd & 1u) << 7;
}

}  // namespace weft

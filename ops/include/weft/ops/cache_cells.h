#pragma once
// Caches of keys and values: what they may hold and where a cell of them lies. Nothing else in the
// repository knows it.
//
// A cache of S cells is [B, G, 64, E]: blocks of 64 cells, in a block one group of heads after the
// other, and of a group one cell after the other. A group's part of a block is one run of memory,
// so whoever works on some groups reads memory in order and shares no page with those who work on
// others. The last block may have cells that nobody asked for; they are never looked at.

#include <cstdint>
#include <span>
#include <string>

#include "weft/graph/op_def.h"

namespace weft {

inline constexpr std::int64_t kCellsPerBlock = 64;

// F32, F16, Q8_0, Q4_0. The last two want heads of a multiple of 32 elements.
std::span<const DType> cache_types();
std::string cache_type_names();  // "F32, F16, Q8_0, Q4_0"

// The number of blocks that hold n cells, and the number of their cells.
constexpr std::int64_t blocks_for(std::int64_t n_cells) {
  return (n_cells + kCellsPerBlock - 1) / kCellsPerBlock;
}
constexpr std::int64_t whole_blocks(std::int64_t n_cells) {
  return blocks_for(n_cells) * kCellsPerBlock;
}

// [B, G, 64, E] for at least `n_cells` cells.
Shape cache_shape(std::int64_t n_cells, std::int64_t n_groups, std::int64_t width);
// S: 64 * B.
std::int64_t cells_of(const Shape& cache);
// Bytes of one cell, all its groups. REQUIRES: a width of whole blocks of the type.
std::int64_t cell_bytes(const TensorSpec& cache);

// Where the elements of a group's part of a cell begin: a row of the cache and an element in it.
struct CellPlace {
  std::int64_t row, col;
};
constexpr CellPlace cell_place(std::int64_t cell, std::int64_t group, std::int64_t width) {
  return {cell / kCellsPerBlock, (group * kCellsPerBlock + cell % kCellsPerBlock) * width};
}

// The same, as memory.
template <class T = std::byte>
T* cell_at(const View& cache, std::int64_t cell, std::int64_t group) {
  const CellPlace place = cell_place(cell, group, cache.dim(-1));
  return reinterpret_cast<T*>(cache.row<std::byte>(place.row) + cache.dtype.bytes(place.col));
}

}  // namespace weft

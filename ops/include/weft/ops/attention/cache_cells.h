#pragma once
// The layout of key and value caches: their types, and where in memory a cell is. Only this header
// knows it.
//
// A cache of S cells is [B, G, 64, E]: blocks of 64 cells. A block holds one group of heads after
// the other, and a group one cell after the other. A group's part of a block is contiguous, so a
// lane that works on some groups reads memory in order and shares no page with other lanes. The
// last block may have more cells than were asked for; those are never read.

#include <cstdint>
#include <span>
#include <string>

#include "weft/graph/op_def.h"

namespace weft {

inline constexpr std::int64_t kCellsPerBlock = 64;

// F32, F16, and Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, which need a head size that is a multiple of 32.
std::span<const DType> cache_types();
std::string cache_type_names();  // "F32, F16, Q8_0, .."

// The number of blocks that hold n cells, and n rounded up to whole blocks.
constexpr std::int64_t blocks_for(std::int64_t n_cells) {
  return (n_cells + kCellsPerBlock - 1) / kCellsPerBlock;
}
constexpr std::int64_t round_up_to_blocks(std::int64_t n_cells) {
  return blocks_for(n_cells) * kCellsPerBlock;
}

// [B, G, 64, E] for at least `n_cells` cells.
Shape cache_shape(std::int64_t n_cells, std::int64_t n_groups, std::int64_t width);
// S: 64 * B.
std::int64_t cells_of(const Shape& cache);
// Bytes of one cell, over all groups. REQUIRES: the width is whole blocks of the type.
std::int64_t cell_bytes(const TensorSpec& cache);

// Where a group's part of a cell begins: a row of the cache and an element in it.
struct CellPlace {
  std::int64_t row, col;
};
constexpr CellPlace cell_place(std::int64_t cell, std::int64_t group, std::int64_t width) {
  return {cell / kCellsPerBlock, (group * kCellsPerBlock + cell % kCellsPerBlock) * width};
}

// The same, as a pointer.
template <class T = std::byte>
T* cell_at(const View& cache, std::int64_t cell, std::int64_t group) {
  const CellPlace place = cell_place(cell, group, cache.dim(-1));
  return reinterpret_cast<T*>(cache.row<std::byte>(place.row) + cache.dtype.bytes(place.col));
}

}  // namespace weft

#pragma once
// Contents of caches of any layout, as [S, G, E].

#include <cstdint>
#include <span>
#include <vector>

#include "weft/ops/attention/cache_cells.h"

namespace weft::test {

// The cache of at least S cells that holds `values` [S, G, E], with `rest` in the other cells.
inline std::vector<float> in_cells(std::span<const float> values, std::int64_t n_groups,
                                   std::int64_t width, float rest = 0) {
  const std::int64_t per_cell = n_groups * width, n = std::ssize(values) / per_cell;
  std::vector<float> cache(static_cast<std::size_t>(round_up_to_blocks(n) * per_cell), rest);
  for (std::int64_t i = 0; i < n * per_cell; ++i) {
    const CellPlace at = cell_place(i / per_cell, i / width % n_groups, width);
    cache[static_cast<std::size_t>(at.row * kCellsPerBlock * per_cell + at.col + i % width)] =
        values[static_cast<std::size_t>(i)];
  }
  return cache;
}

// The first `n_cells` of a cache as [n_cells, G, E].
inline std::vector<float> from_cells(std::span<const float> cache, std::int64_t n_cells,
                                     std::int64_t n_groups, std::int64_t width) {
  const std::int64_t per_cell = n_groups * width;
  std::vector<float> values;
  for (std::int64_t i = 0; i < n_cells * per_cell; ++i) {
    const CellPlace at = cell_place(i / per_cell, i / width % n_groups, width);
    values.push_back(
        cache[static_cast<std::size_t>(at.row * kCellsPerBlock * per_cell + at.col + i % width)]);
  }
  return values;
}

}  // namespace weft::test

#include "weft/ops/attention/cache_cells.h"

#include <set>

#include "weft/ops/formats/q8_0.h"

#include "op_test.h"

namespace weft {
namespace {

TEST_CASE("caches: whole blocks of cells") {
  CHECK(round_up_to_blocks(0) == 0);
  CHECK(round_up_to_blocks(1) == 64);
  CHECK(round_up_to_blocks(64) == 64);
  CHECK(round_up_to_blocks(65) == 128);
  CHECK(cache_shape(65, 4, 32) == Shape{2, 4, 64, 32});
  CHECK(cells_of(cache_shape(65, 4, 32)) == 128);
  CHECK(cell_bytes({f16, cache_shape(1, 4, 32)}) == 256);
  CHECK(cell_bytes({q8_0, cache_shape(1, 4, 64)}) == 4 * 2 * 34);
  CHECK(cache_type_names() == "F32, F16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0");
}

TEST_CASE("caches: every cell of every group has its own place, a group's part is contiguous") {
  constexpr std::int64_t kGroups = 3, kWidth = 8, kCells = 128;
  std::set<std::int64_t> seen;
  for (std::int64_t g = 0; g < kGroups; ++g) {
    for (std::int64_t s = 0; s < kCells; ++s) {
      const CellPlace at = cell_place(s, g, kWidth);
      CHECK(at.row == s / 64);
      CHECK(at.col / (64 * kWidth) == g);
      seen.insert(at.row * 64 * kGroups * kWidth + at.col);
      if (s % 64 > 0) CHECK(at.col == cell_place(s - 1, g, kWidth).col + kWidth);
    }
  }
  CHECK(seen.size() == kCells * kGroups);
  CHECK(*seen.rbegin() == kCells * kGroups * kWidth - kWidth);
}

TEST_CASE("caches: memory of a cell, with rows at any distance") {
  std::vector<std::byte> memory(4096);
  const View cache{.data = memory.data(),
                   .dtype = q8_0,
                   .n_dims = 4,
                   .dims = {2, 1, 64, 32},
                   .row_stride = 64 * 34 - 100};
  CHECK(cell_at(cache, 65, 0) == memory.data() + cache.row_stride + 34);
}

}  // namespace
}  // namespace weft

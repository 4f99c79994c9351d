#include "weft/ops/attention/cache_cells.h"

#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q8_0.h"

namespace weft {

std::span<const DType> cache_types() {
  static constexpr DType kTypes[] = {f32, f16, q8_0, q5_1, q5_0, q4_1, q4_0};
  return kTypes;
}

std::string cache_type_names() {
  std::string names;
  for (const DType type : cache_types())
    names += (names.empty() ? "" : ", ") + std::string(type.name());
  return names;
}

Shape cache_shape(std::int64_t n_cells, std::int64_t n_groups, std::int64_t width) {
  return {blocks_for(n_cells), n_groups, kCellsPerBlock, width};
}

std::int64_t cells_of(const Shape& cache) {
  return cache[0].bound * kCellsPerBlock;
}

std::int64_t cell_bytes(const TensorSpec& cache) {
  return cache.dtype.bytes(cache.shape[1].bound * cache.shape[3].bound);
}

}  // namespace weft

#include "weft/files/tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/formats/format.h"

namespace weft {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 16;

}  // namespace

void for_each_piece(
    const CheckpointTensor& tensor,
    const std::function<void(std::span<const float> values, std::int64_t first)>& use) {
  const Format& format = *find_format(tensor.spec.dtype);
  const std::int64_t n_cols = tensor.spec.shape.last(), n_rows = tensor.n_rows();
  const std::int64_t step = std::clamp<std::int64_t>(kPieceBytes / tensor.row_bytes(), 1,
                                                     std::max<std::int64_t>(n_rows, 1));
  std::vector<std::byte> bytes(static_cast<std::size_t>(step * tensor.row_bytes()));
  std::vector<float> values(static_cast<std::size_t>(step * n_cols));
  for (std::int64_t row = 0; row < n_rows; row += step) {
    const std::int64_t end = std::min(row + step, n_rows), count = (end - row) * n_cols;
    copy_rows(tensor, row, end, bytes.data());
    format.decode(bytes.data(), values.data(), count);
    use(std::span<const float>(values).first(static_cast<std::size_t>(count)), row * n_cols);
  }
}

std::vector<float> values_of(const CheckpointTensor& tensor) {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(tensor.spec.shape.elems()));
  for_each_piece(tensor, [&](std::span<const float> values, std::int64_t) {
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

void check_finite(const Checkpoint& file, const CheckpointTensor& tensor) {
  for_each_piece(tensor, [&](std::span<const float> values, std::int64_t first) {
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) return;
    fail<FormatError>("{}: tensor '{}' holds {} at element {}: the file is damaged",
                      printable_path(file.part_paths()[static_cast<std::size_t>(tensor.part)]),
                      printable(tensor.name), *bad, first + (bad - values.begin()));
  });
}

}  // namespace weft

#include "weft/files/tensor_pages.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"

namespace weft {

void prefault_rows(const Checkpoint& file, const CheckpointTensor& tensor, std::int64_t row_bytes,
                   std::int64_t first, std::int64_t last) {
  if (const std::int64_t head = tensor.paired_rows; head != 0) {
    first = first / head * head;
    last = std::min((last + head - 1) / head * head, tensor.n_bytes / row_bytes);
  }
  const std::int64_t begin = first * row_bytes, end = last * row_bytes;
  if (prefault({tensor.data + begin, static_cast<std::size_t>(end - begin)})) return;
  const auto at = [&](std::int64_t offset) {
    return tensor.file_offset + static_cast<std::uint64_t>(offset);
  };
  fail<IoError>("{}: cannot read bytes {} to {}, of tensor '{}' (truncated since it was opened?)",
                printable_path(file.part_paths()[static_cast<std::size_t>(tensor.part)]), at(begin),
                at(end), printable(tensor.name));
}

}  // namespace weft

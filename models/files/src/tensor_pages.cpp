#include "weft/files/tensor_pages.h"

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"

namespace weft {

void prefault_rows(const Checkpoint& file, const CheckpointTensor& tensor, std::int64_t first,
                   std::int64_t last) {
  for (const RowSource& from : row_sources(tensor, first, last)) {
    if (prefault(from.bytes)) continue;
    fail<IoError>("{}: cannot read bytes {} to {}, of tensor '{}' (truncated since it was opened?)",
                  printable_path(file.part_paths()[static_cast<std::size_t>(from.part)]),
                  from.file_offset, from.file_offset + from.bytes.size(), printable(tensor.name));
  }
}

void unmap_source(const RowSource& from, std::size_t before) noexcept {
  if (!from.lent) release_pages({from.bytes.data() - before, from.bytes.size() + before});
}

void unmap_tensors(const Checkpoint& file) {
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (tensor.absent) continue;
    for (const RowSource& from : row_sources(tensor, 0, tensor.n_rows())) unmap_source(from);
  }
}

}  // namespace weft

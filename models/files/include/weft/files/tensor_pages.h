#pragma once

#include <cstdint>

#include "weft/files/checkpoint.h"

namespace weft {

// Waits until the source of the rows [first, last) of a tensor is in memory and mapped: the bytes
// that row_sources() lists. Throws IoError with the file, the bytes and the tensor if some cannot
// be read, for example because the file was truncated; Linux before 5.14 cannot detect that.
void prefault_rows(const Checkpoint& file, const CheckpointTensor& tensor, std::int64_t first,
                   std::int64_t last);

// Unmaps the pages of a source that is not needed any more (release_pages), and of `before` bytes
// in front of it. Memory of the caller stays as it is: its pages could not be read again.
void unmap_source(const RowSource& from, std::size_t before = 0) noexcept;
// The same for all tensors. Reading a page also maps its neighbours, some
// hundred KiB where the system caches the file in large pieces.
void unmap_tensors(const Checkpoint& file);

}  // namespace weft

#pragma once

#include <cstdint>

#include "weft/files/checkpoint.h"

namespace weft {

// Waits until what the rows [first, last) of a tensor are made of is in memory and mapped: these
// rows of the file, or those of whole heads where the file has other orders (copy_rows). Throws
// IoError that names the file, the bytes and the tensor where some cannot be read, as when the
// file was cut short; Linux before 5.14 cannot tell.
void bring_in_rows(const Checkpoint& file, const CheckpointTensor& tensor, std::int64_t row_bytes,
                   std::int64_t first, std::int64_t last);

}  // namespace weft

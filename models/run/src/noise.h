#pragma once
// Numbers that stand for real ones where only the time matters.

#include <cstddef>
#include <span>

#include "weft/graph/dtype.h"

namespace weft {

// Fills memory with elements of a type, between -1 and 1 and the same in every run. Throws
// UnsupportedError for types that cannot be encoded. REQUIRES: whole blocks.
void fill_with_noise(DType dtype, std::span<std::byte> bytes);

}  // namespace weft

#pragma once
// The numbers of a checkpoint's tensors.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/files/checkpoint.h"

namespace weft {

// Decodes a tensor a piece at a time. `use` gets the values of whole rows, and the index of the
// first one in the tensor. REQUIRES: the tensor's type has a format.
void for_each_piece(
    const CheckpointTensor& tensor,
    const std::function<void(std::span<const float> values, std::int64_t first)>& use);

// All of them, in order. REQUIRES: likewise.
std::vector<float> values_of(const CheckpointTensor& tensor);

// Throws FormatError "FILE: tensor 'T' holds nan at element 5: the file is damaged" if a number is
// not finite. REQUIRES: likewise.
void check_finite(const Checkpoint& file, const CheckpointTensor& tensor);

}  // namespace weft

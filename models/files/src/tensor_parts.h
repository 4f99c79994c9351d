#pragma once
// Parts of tensors as tensors of their own, which refer to the same bytes.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/files/checkpoint.h"

namespace weft::files {

// The parts, each with its source in `file`, in the order that the sources have there. Throws
// ValueError "FILE: has no tensor 'x'".
std::vector<std::pair<const CheckpointTensor*, const TensorPart*>> in_file_order(
    const Checkpoint& file, std::span<const TensorPart> parts);

// The part of a tensor, with the name of the source. It is contiguous or has the source's runs,
// unless `runs` receives those that it must have instead. Throws ValueError "tensor 'x': ..." for
// an axis or ranges that the source, or what is left of it, does not have.
CheckpointTensor cut_part(const CheckpointTensor& source, const TensorPart& part,
                          std::vector<RowRun>& runs);

// Its shape. Throws likewise.
Shape shape_of_part(const CheckpointTensor& source, const TensorPart& part);

// A hash of what is taken from which tensor, not 0.
std::uint64_t hash_parts(std::span<const TensorPart> parts);

}  // namespace weft::files

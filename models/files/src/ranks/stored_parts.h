#pragma once
// What Checkpoint needs to present the file of a rank as its model.

#include "file_part.h"

namespace weft::files {

// Replaces the tensors of `view`, which is of `file`, by those of the model, and keeps the others
// as stored parts. Throws FormatError.
void present_model(const Checkpoint& file, OpenedFiles& view);

// The stored part of an absent tensor. Throws FormatError "FILE: has no part 'x'", and for a part
// of another type or shape; ValueError like shape_of_part().
CheckpointTensor find_part(const OpenedFiles& files, const CheckpointTensor& source,
                           const TensorPart& part);

}  // namespace weft::files

#pragma once
// Classifies tensors for quantizing by name and shape.

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"

#include "mixes.h"

namespace weft::quantize {

// The rows of a tensor: n_cols adjacent elements that are divided into blocks, and how many
// matrices it holds (one per expert).
struct Rows {
  std::int64_t n_cols = 0, n_rows = 0, n_matrices = 1;
  std::int64_t rows_per_matrix() const { return n_rows / n_matrices; }
};
Rows rows_of(const TensorSpec& spec);

// Only matrices, except small and sensitive ones: norms, gates of experts, positions, convolutions,
// the state-space and recurrent parts, projectors of images and sound.
bool may_quantize(const CheckpointTensor& tensor);

// Whether an importance matrix may be expected to have an entry for it: is_multiplied(), except for
// the output matrix, which `weft imatrix` only includes on request.
bool expects_importances(std::string_view name);

TensorClass class_of(std::string_view name);

// From metadata, or from the tensors if keys are missing.
ModelCase model_case(const Checkpoint& file);
// For each tensor of the file, in order. The embedding is of class output if the model has no
// separate output matrix.
std::vector<TensorCase> tensor_cases(const Checkpoint& file);

}  // namespace weft::quantize

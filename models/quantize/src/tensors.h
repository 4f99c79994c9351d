#pragma once
// What a tensor is to a quantizer, by its name and shape.

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"

#include "mixes.h"

namespace weft::quantize {

// The rows of a tensor: n_cols elements that lie together and are cut into blocks, and how many
// matrices of rows it holds (one per expert).
struct Rows {
  std::int64_t n_cols = 0, n_rows = 0, n_matrices = 1;
  std::int64_t rows_per_matrix() const { return n_rows / n_matrices; }
};
Rows rows_of(const TensorSpec& spec);

// Matrices only, and not those that are small and matter: norms, gates of experts, positions,
// convolutions, the state-space and recurrent parts, projectors of images and sound.
bool may_quantize(const CheckpointTensor& tensor);

TensorClass class_of(std::string_view name);

// From metadata; what it lacks, from the tensors.
ModelCase model_case(const Checkpoint& file);
// For each tensor of the file, in order. The embedding is of class output if the model has no
// output matrix of its own.
std::vector<TensorCase> tensor_cases(const Checkpoint& file);

}  // namespace weft::quantize

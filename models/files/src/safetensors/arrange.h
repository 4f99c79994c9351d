#pragma once
// How the rows of a stored tensor become those of the tensor that GGUF files have.

#include <functional>
#include <string>
#include <vector>

#include "weft/files/checkpoint.h"

#include "safetensors/config/config.h"
#include "safetensors/header.h"

namespace weft::safetensors {

struct Arranged {
  Shape shape;
  std::vector<RowRun> runs;  // empty: all rows, in order. A vector has rows of one element
  bool less_one = false;     // 1 is to be added to its values
};

// `tensor` has the stored shape. `refuse` throws an error about it.
Arranged arrange(const CheckpointTensor& tensor, arch::HfTensor::Stored stored,
                 const Config& config, const std::function<void(const std::string&)>& refuse);

}  // namespace weft::safetensors

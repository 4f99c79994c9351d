#pragma once
// Maps the tensors of a checkpoint to Weft's names, with the tables of its architecture.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/arch/builder.h"

namespace weft::safetensors {

// The architecture for this model_type, built in or registered. Throws UnsupportedError listing the
// known types.
const Architecture& find_hf_model(std::string_view type, const std::string& file);

// Weft's view of a tensor.
struct TensorRole {
  std::string name;  // "blk.3.attn_q.weight"; empty for tensors that are computed, not learned
  HfTensor::Rows rows = HfTensor::Rows::as_stored;
  std::uint32_t order = 0;  // steps use the tensors roughly in this order
  bool known = false;
};

TensorRole find_role(const HuggingFace& tables, std::string_view hf_name);

}  // namespace weft::safetensors

#pragma once
// Maps the tensors of a checkpoint to Weft's names, with the tables of its architecture.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/arch/builder.h"

#include "safetensors/json.h"

namespace weft::safetensors {

// The architecture for this model_type, built in or registered; registered ones come first, and
// those for a flag that the configuration has before others. Throws UnsupportedError listing the
// known types.
const arch::Architecture& find_hf_model(std::string_view type, const JsonObject& config);

// Weft's view of a tensor.
struct TensorRole {
  std::string name;  // "blk.3.attn_q.weight"; empty for tensors that are not needed
  arch::HfTensor::Stored stored = arch::HfTensor::Stored::as_is;
  std::uint32_t order = 0;               // steps use the tensors roughly in this order
  std::int64_t layer = -1, expert = -1;  // -1: none
};

// A tensor that is computed, not stored.
struct NamedFloats {
  std::string name;
  std::vector<float> values;
};

// Usually one. None if the architecture has no such tensor.
std::vector<TensorRole> find_roles(const arch::HuggingFace& tables, std::string_view hf_name);

// Whether it belongs to the part of a model that reads images or sound.
bool is_of_other_part(const arch::HuggingFace& tables, std::string_view hf_name);

}  // namespace weft::safetensors

#pragma once
// The models of Hugging Face's transformers that we have: which of our architectures computes them
// and what their tensors are called there.

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::safetensors {

struct HfModel {
  std::string_view type;          // model_type of config.json
  std::string_view architecture;  // general.architecture
  // GGUF files of this architecture hold the rows of q and k in the order in which rope pairs them,
  // (0, E/2), (1, E/2 + 1), .., where the checkpoint has the halves of a head one after the other.
  bool rows_in_pairs = false;
};

// Throws UnsupportedError naming the types that are known.
const HfModel& find_hf_model(std::string_view type, const std::string& file);

// What a tensor is for us.
struct TensorRole {
  enum class Rows : std::uint8_t { as_stored, query_heads, key_heads };

  std::string name;  // "blk.3.attn_q.weight"; empty for tensors that are computed, not learned
  Rows rows = Rows::as_stored;
  std::uint32_t order = 0;  // steps use the tensors about in this order
  bool known = false;
};

TensorRole find_role(std::string_view hf_name);

}  // namespace weft::safetensors

#pragma once
// The names that an architecture's tensors and config.json keys have on Hugging Face. Plain tables
// beside the builders; models/files uses them to read directories.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

// A tensor of a layer or of the model. Names are without ".weight", ".bias", "model." and
// "layers.<i>.".
struct HfTensor {
  enum class Rows : std::uint8_t { as_stored, query_heads, key_heads };

  std::string_view hf_name, gguf_name;  // "self_attn.q_proj", "attn_q"
  Rows rows = Rows::as_stored;
};

// A number in config.json and its key "ARCH.*" in GGUF files.
struct HfKey {
  enum class Kind : std::uint8_t { count, number, flag };
  enum class IfAbsent : std::uint8_t { refuse, omit, same_as, use_default };

  std::string_view hf_name, gguf_name;  // "hidden_size", "embedding_length"
  Kind kind = Kind::count;
  IfAbsent if_absent = IfAbsent::refuse;
  std::string_view other = {};  // same_as: the config.json key whose value is used
  double value = 0;             // use_default: the value
};

struct HuggingFace {
  std::array<std::string_view, 4> types = {};  // accepted values of model_type in config.json
  std::span<const HfTensor> tensors = {};      // of a layer; searched before usual_hf_tensors()
  std::span<const HfKey> keys = {};            // in addition to usual_hf_keys()
  std::array<std::string_view, 2> activations = {"silu", "swish"};  // accepted values of hidden_act
  // GGUF files of this architecture store the rows of q and k as rope pairs them, (0, E/2), (1, E/2
  // + 1), .., but Hugging Face checkpoints store the halves of a head one after the other.
  bool paired_rows = false;

  bool has_type(std::string_view type) const;
};

// The tables for most decoders, in the order of use. Sources: the configuration and modeling files
// of https://github.com/huggingface/transformers/tree/main/src/transformers.
std::span<const HfTensor> usual_hf_tensors();        // of a layer
std::span<const HfTensor> usual_hf_model_tensors();  // outside of layers; the first one is used
                                                     // before the layers, the others after them
std::span<const HfKey> usual_hf_keys();

}  // namespace weft

#pragma once
// How an architecture's models are published on Hugging Face: what its tensors and the keys of
// config.json are called there. Plain tables beside the builders; models/files reads directories
// with them.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

// A tensor of a layer or of the model, without ".weight" or ".bias", without "model." and
// "layers.<i>.".
struct HfTensor {
  enum class Rows : std::uint8_t { as_stored, query_heads, key_heads };

  std::string_view theirs, ours;  // "self_attn.q_proj", "attn_q"
  Rows rows = Rows::as_stored;
};

// A number of config.json and the key "ARCH.*" that GGUF files have for it.
struct HfKey {
  enum class Kind : std::uint8_t { count, number, flag };
  enum class IfAbsent : std::uint8_t { refuse, leave_out, same_as, use_default };

  std::string_view theirs, ours;  // "hidden_size", "embedding_length"
  Kind kind = Kind::count;
  IfAbsent if_absent = IfAbsent::refuse;
  std::string_view other = {};  // same_as: their key whose value it takes
  double value = 0;             // use_default
};

struct HuggingFace {
  std::array<std::string_view, 4> types = {};  // model_type of config.json; empty: none
  std::span<const HfTensor> tensors = {};      // of a layer, besides the usual ones; these go first
  std::span<const HfKey> keys = {};            // besides the usual ones
  std::array<std::string_view, 2> activations = {"silu", "swish"};  // hidden_act, of those it has
  // GGUF files of this architecture hold the rows of q and k in the order in which rope pairs them,
  // (0, E/2), (1, E/2 + 1), .., but checkpoints have the halves of a head one after the other.
  bool paired_rows = false;

  bool has_type(std::string_view type) const;
};

// What most decoders have, each in the order in which steps use them. Sources: the configuration
// and modeling files of https://github.com/huggingface/transformers/tree/main/src/transformers.
std::span<const HfTensor> usual_hf_tensors();  // of a layer
std::span<const HfTensor>
usual_hf_outsiders();  // outside of layers; the first one is used before them
std::span<const HfKey> usual_hf_keys();

}  // namespace weft

#pragma once
// The names that an architecture's tensors and config.json keys have on Hugging Face. Plain tables
// beside the builders; models/files uses them to read directories.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::arch {

// A tensor of a layer or of the model. Names are without ".weight", ".bias", and what
// HuggingFace::prefixes and layers precede them with. '*' stands for the number of an expert: the
// matrices of all experts become one tensor. Outside of layers, '#' stands for the number of a
// layer, in both names. If gguf_name has its ending, hf_name has none. A tensor whose gguf_name is
// empty is not needed. Several rows for one hf_name make several tensors of it.
struct HfTensor {
  // What a checkpoint stores, if it is not what GGUF files have.
  enum class Stored : std::uint8_t {
    as_is,
    query_heads,   // see HuggingFace::paired_rows
    key_heads,     // likewise
    transposed,    // the matrix as [in, out]
    qkv_by_group,  // for each kv head: its query heads, the key head and the value head
    less_one,      // the weights of a norm, less 1
    as_matrix,     // a vector as a matrix of one row or column
    latent_keys,  // for each head: the rows of keys, which become [H, rank, E], and those of values
    latent_values,  // the rows of values of the same matrix
    gate_half,      // the first half of the rows, of each expert
    up_half,        // the second half
    positions,      // a row per position, the first of which are padding (offset_types)
  };

  std::string_view hf_name, gguf_name;  // "self_attn.q_proj", "attn_q"
  Stored stored = Stored::as_is;
};

// A value in config.json and its key "ARCH.*" in GGUF files. If several rows have the same
// gguf_name, the first that applies is used, so that an architecture's rows replace the usual ones.
struct HfKey {
  enum class Kind : std::uint8_t {
    count,
    number,
    flag,
    inverse_root,  // a number x, which becomes 1 / sqrt(x)
    word,          // one of `words`, which becomes its position, from 1 on
    text,          // a text; the default is words[0]
    none,          // nothing, in place of a usual row
  };
  enum class IfAbsent : std::uint8_t { refuse, omit, same_as, use_default, multiple_of };

  std::string_view hf_name, gguf_name;  // "hidden_size", "embedding_length"
  Kind kind = Kind::count;
  IfAbsent if_absent = IfAbsent::refuse;
  // same_as, multiple_of: the config.json key whose value is used; use_default: that for null,
  // which is otherwise as if the key were absent
  std::string_view other = {};
  double value = 0;            // use_default: the value; multiple_of: the factor
  std::string_view plus = {};  // a count that is added
  std::string_view when = {};  // the row applies only if this flag in config.json is true
  std::array<std::string_view, 3> words = {};
  bool when_absent = false;    // or, if this is set, absent
  std::string_view type = {};  // the row applies only to models of this type
  bool null_is_zero = false;   // a number: null is 0, even if there is a default
};

// A setting of config.json that has one of these values, as JSON, or is absent or null; models with
// others are refused. An architecture's rows replace the usual ones, of whatever type they are.
struct HfSetting {
  std::string_view hf_name;
  std::array<std::string_view, 4> values = {};  // "false", "\"gelu\""
  std::string_view type = {};                   // the row applies only to models of this type
  bool required = false;  // absent is refused, too: it stands for another value
};

// What absent keys mean for models of one type, if it is not what the tables say.
struct HfAbsent {
  std::string_view type;
  bool tied = false;         // see HuggingFace::tied
  double rope_base = 10000;  // see HuggingFace::usual_rope_base
  std::uint64_t window = 0;  // sliding_window; 0: no windows
  // Whether use_sliding_window and max_window_layers can say that there are no windows.
  bool window_has_flag = true;
};

// What becomes of sliding windows in config.json.
enum class HfWindows : std::uint8_t {
  refused,          // unless no position is out of the window, or use_sliding_window is false
  refused_if_used,  // the same, and use_sliding_window is false if it is absent
  ignored,          // as by all readers of these GGUF files
  by_layer,         // layer_types, or a period, say which layers have them
};

struct HuggingFace {
  std::array<std::string_view, 4> types = {};  // accepted values of model_type in config.json
  // The tables are for models of these types for which this flag in config.json is true.
  std::string_view flag = {};
  std::span<const HfTensor> tensors = {};  // tensors of a layer; searched before usual_hf_tensors()
  std::span<const HfKey> keys = {};        // before usual_hf_keys()
  std::array<std::string_view, 4> activations = {"silu", "swish"};  // accepted values of hidden_act
  // GGUF files of this architecture store the rows of q and k as rope pairs them, (0, E/2), (1, E/2
  // + 1), .., but Hugging Face checkpoints store the halves of a head one after the other.
  bool paired_rows = false;
  std::span<const HfTensor> model_tensors = {};  // before usual_hf_model_tensors()
  std::array<std::string_view, 3> prefixes = {"model.", "language_model."};  // that names may have
  std::string_view layers = "layers.";             // before the number of a layer
  std::span<const HfSetting> settings = {};        // replace usual_hf_settings()
  std::span<const std::string_view> ignored = {};  // see usual_hf_ignored()
  HfWindows windows = HfWindows::refused;
  bool tied = false;  // if config.json does not have tie_word_embeddings
  // The key that counts in place of tie_word_embeddings, if config.json has it.
  std::string_view tied_key = {};
  bool rope = true;
  // The key for the share of a head that rope rotates, and the share if it is absent. Without a
  // key, it must be all of the head.
  std::string_view rope_share = {};
  double usual_rope_share = 1;
  double usual_rope_base = 10000;  // if rope_theta is absent
  // Values of model_type for which the learned positions of a text begin with number 2, behind that
  // of padding; GGUF files do not have the rows before it.
  std::array<std::string_view, 3> offset_types = {};
  bool latent_yarn = false;  // YaRN's mscale_all_dim scales the scores of latent attention
  std::span<const HfAbsent> absent = {};  // for types that differ from `tied`, `usual_rope_base`

  bool has_type(std::string_view type) const;
  HfAbsent absent_keys(std::string_view type) const;
};

// The tables for most decoders, in the order of use. Sources: the configuration and modeling files
// of https://github.com/huggingface/transformers/tree/main/src/transformers.
std::span<const HfTensor> usual_hf_tensors();        // tensors of a layer
std::span<const HfTensor> usual_hf_model_tensors();  // outside of layers; the first one is used
                                                     // before the layers, the others after them
std::span<const HfKey> usual_hf_keys();
std::span<const HfSetting> usual_hf_settings();
// Keys of config.json that do not change what a model computes. Other keys that no table has are
// unknown, and refused.
std::span<const std::string_view> usual_hf_ignored();

}  // namespace weft::arch

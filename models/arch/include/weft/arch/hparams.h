#pragma once
// Hyper-parameters of a model, read once from the keys of its file and checked. This header has
// those that most decoders share. An architecture with more derives a struct from Hparams and reads
// them in its own file.
// Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "weft/arch/keys.h"
#include "weft/ops/positions/rope_angles.h"

namespace weft::arch {

enum class NormKind : std::uint8_t { rms, layer };
enum class LayerRope : std::uint8_t { first, second, none };  // Decoder::rope, Decoder::second_rope
enum class RopeScaling : std::uint8_t { none, linear, yarn, longrope };

// The hyper-parameters of a layer. The letters are those of the shape comments.
struct LayerHparams {
  std::int64_t H = 0;       // query heads
  std::int64_t G = 0;       // kv heads; divides H; 0 in layers without attention
  std::int64_t E = 0;       // elements of a query or key head
  std::int64_t Ev = 0;      // elements of a value head
  std::int64_t F = 0;       // ffn width
  std::int64_t window = 0;  // tokens that attention sees, including the current one; 0: all
  LayerRope rope = LayerRope::first;
  bool experts = false;     // its ffn is a mixture of experts
  std::int64_t kv_of = -1;  // the earlier layer whose keys and values it attends to; -1: its own
};

// How the logits of a router become the scores that experts are chosen by.
enum class Gating : std::uint8_t { softmax, sigmoid, softmax_of_chosen, sqrt_softplus };

// A mixture of experts.
struct ExpertHparams {
  std::int64_t X = 0;         // experts; 0: none
  std::int64_t K = 0;         // experts per token
  std::int64_t F = 0;         // ffn width of an expert
  std::int64_t shared_F = 0;  // ffn width of the shared expert; 0: none
  std::int64_t n_groups = 1, used_groups = 1;
  Gating gating = Gating::softmax;
  bool normalize = false;  // the weights of the chosen experts add up to 1
  float scale = 1;         // factor on the experts' weights
  // Limits of what experts multiply, and of the shared expert, by layer; 0 or absent: none.
  std::vector<float> limits = {}, shared_limits = {};
};

// Which struct a config is, for config_cast(). Not copied, because copies may be of a base class.
class ConfigType {
 public:
  ConfigType() = default;
  ConfigType(const ConfigType&) {}
  ConfigType& operator=(const ConfigType&) { return *this; }

  void set(const std::type_info& type) { type_ = &type; }
  bool is(const std::type_info& type) const { return type_ && *type_ == type; }

 private:
  const std::type_info* type_ = nullptr;
};

struct Hparams {
  std::string arch;
  std::int64_t L = 0;        // layers
  std::int64_t n_nextn = 0;  // further layers, which draft (multi-token prediction)
  std::int64_t D = 0;        // model width
  std::int64_t V = 0;        // vocabulary
  std::int64_t context = 0;  // positions it was trained for
  NormKind norm = NormKind::rms;
  bool norm_weights = true;  // norms have weights
  float eps = 0;             // of norms
  RopeAttrs rope;            // original_context is always set
  RopeScaling rope_scaling = RopeScaling::none;
  bool causal = true;   // tokens see only those before them
  float clamp_qkv = 0;  // projections to q, k and v are clamped to -clamp_qkv .. clamp_qkv; 0: not
  ExpertHparams experts;
  std::vector<LayerHparams> layers;  // [L + n_nextn]
  ConfigType type;                   // set by configure()

  const LayerHparams& layer(std::int64_t i) const { return layers[static_cast<std::size_t>(i)]; }
};

// Throws what config_cast() throws.
[[noreturn]] void refuse_config(const Hparams& c, const std::type_info& wanted, SourceLine where);

// The config as the struct that its architecture reads. REQUIRES: configure() made it; not a copy.
// Throws ValueError "SOURCE:LINE needs the config K3, got that of architecture 'llama'" if it is
// not exactly that struct.
template <class Own>
const Own& config_cast(const Hparams& c, SourceLine where = std::source_location::current()) {
  if constexpr (!std::is_same_v<Own, Hparams>) {
    if (!c.type.is(typeid(Own))) refuse_config(c, typeid(Own), where);
  }
  return static_cast<const Own&>(c);
}

// What an architecture requires of the shared keys.
struct HparamsRules {
  NormKind norm = NormKind::rms;  // whose eps is read
  bool causal = true;             // if the file does not say
  // The minimum values that an architecture supports. Zero means that a layer may have no query
  // heads, kv heads or ffn.
  std::int64_t min_H = 1, min_G = 1, min_F = 1;
};

// Reads and checks the keys that decoders share; head counts and ffn widths may be one number or
// one per layer. Experts are not read: read_experts() does. Throws FormatError as Keys does, and
// UnsupportedError for ways to scale rope that are not known.
Hparams read_hparams(const Keys& keys, const HparamsRules& rules = {});

// The factor by which YaRN scales what it stretches: 1 + weight ln(stretch), or 1 if it does not
// stretch. Peng et al. 2023, arXiv:2309.00071, section 3.4; weights are 0.1 times the publishers'
// mscale or mscale_all_dim.
float yarn_magnitude(float stretch, float weight = 0.1f);

// Throws UnsupportedError "FILE: mixture of 8 experts (llama.expert_count) is not supported".
void require_dense(const Keys& keys, const Hparams& c);

// Which key says how wide an expert is.
enum class ExpertWidth : std::uint8_t {
  own,         // expert_feed_forward_length
  own_or_ffn,  // the same, or feed_forward_length if it is absent
  ffn,         // feed_forward_length
};
struct ExpertRules {
  Gating gating = Gating::softmax;  // if the file does not say
  bool normalize = true;            // likewise
  ExpertWidth width = ExpertWidth::own;
  bool required = false;  // a file without expert_count is rejected
};
// Reads the keys of a mixture of experts into c.experts, and which layers have one: those behind
// leading_dense_block_count, of these every one, or every interleave_moe_layer_step-th. A file
// without expert_count has none. Draft layers have one, unless the file has a dense ffn for them.
// REQUIRES: c is from read_hparams(). Throws like it.
void read_experts(const Keys& keys, Hparams& c, const ExpertRules& rules = {});

// Reads swiglu_clamp_exp and swiglu_clamp_shexp, one limit or one per layer, into c.experts. Throws
// FormatError for negative limits.
void read_expert_limits(const Keys& keys, Hparams& c);

// The heads that choose which positions a token attends to.
struct IndexerHparams {
  std::int64_t H = 0;      // heads
  std::int64_t E = 0;      // elements of a head
  std::int32_t top_k = 1;  // what they choose: positions, or spans of them
};
// Reads attention.indexer.{head_count, key_length, top_k}. REQUIRES: c is from read_hparams().
// Throws as Keys does, and FormatError if heads are too narrow for rope.
IndexerHparams read_indexer(const Keys& keys, const Hparams& c);

struct WindowRules {
  std::int64_t window = 0;  // if the file has no attention.sliding_window; 0: then there are none
  bool full_first = false;  // the first layer of every period sees everything, instead of the last
};
// Reads which layers see a window of attention.sliding_window tokens: those that the key
// attention.sliding_window_pattern names, by a flag per layer or a period; `period` if it is
// absent. With period n, all but every n-th layer have windows, and draft layers have none.
void read_windows(const Keys& keys, Hparams& c, std::int64_t period, const WindowRules& rules = {});
// Heads of layers with windows have attention.key_length_swa and value_length_swa elements, if the
// file has these keys.
void read_local_heads(const Keys& keys, Hparams& c);
// The rope of layers with windows, which from now on take Decoder::second_rope: as c.rope, not
// stretched, with the base rope.freq_base_swa, or `base`, and rope.dimension_count_swa rotated
// elements, or as many as in c.rope, if the file does not say.
RopeAttrs read_local_rope(const Keys& keys, Hparams& c, float base);
// Reads which layers have no attention, and sets their G to 0: those that the flags in
// attention.recurrent_layers name; without this key, all but every n-th, if
// full_attention_interval is n, or `period` if it is absent. Draft layers always have attention.
void read_recurrent_layers(const Keys& keys, Hparams& c, std::int64_t period);
// Reads rope.dimension_sections, if the file has it, into c.rope. Throws FormatError unless they
// are 3 or 4 numbers from 0 on.
void read_sections(const Keys& keys, Hparams& c, bool interleaved);
// The last attention.shared_kv_layers layers, or `n_shared` if the file does not say, attend to the
// keys and values of the last layer before them with the same window.
void read_shared_kv(const Keys& keys, Hparams& c, std::int64_t n_shared);
// Layers without a window get no rope.
void rope_in_windows_only(Hparams& c);

}  // namespace weft::arch

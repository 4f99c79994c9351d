#include "weft/arch/hparams.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

#include "text.h"

namespace weft {
namespace {

// Far above every known model, and low enough that products of a few of them fit in 63 bits.
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeads = 1 << 16;
constexpr std::int64_t kMaxHeadWidth = 1 << 16;
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxVocabulary = 1 << 26;
constexpr std::uint64_t kMaxExperts = 1 << 16;
constexpr std::int64_t kMaxPositions = (std::int64_t{1} << 31) - 1;

std::int64_t read_vocabulary(const Keys& keys) {
  const ModelSource& source = keys.source();
  const std::int64_t n_tokens = source.array_size("tokenizer.ggml.tokens");
  if (n_tokens > kMaxVocabulary) {
    fail<FormatError>("{}: a vocabulary of {} tokens, expected at most {}", source.file(), n_tokens,
                      kMaxVocabulary);
  }
  return n_tokens > 0 ? n_tokens : keys.count("vocab_size", kMaxVocabulary);
}

std::int64_t read_experts(const Keys& keys) {
  const std::uint64_t n = keys.source().find_uint(keys.name("expert_count")).value_or(0);
  if (n > kMaxExperts) keys.refuse("expert_count", n, fmt::format("0..{}", kMaxExperts));
  return static_cast<std::int64_t>(n);
}

void read_heads(const Keys& keys, const LayerMinima& minima, Hparams& c) {
  const auto heads = keys.find_counts("attention.head_count", c.L, minima.H, kMaxHeads);
  if (heads.empty()) keys.missing("attention.head_count");
  auto groups = keys.find_counts("attention.head_count_kv", c.L, minima.G, kMaxHeads);
  if (groups.empty()) groups = heads;
  const std::int64_t max_heads = std::max<std::int64_t>(std::ranges::max(heads), 1);
  const auto key_length = keys.find_count("attention.key_length", kMaxHeadWidth);
  if (!key_length && c.D % max_heads != 0) {
    keys.refuse("attention.head_count", max_heads,
                fmt::format("a divisor of the embedding length {}", c.D));
  }
  const std::int64_t E = key_length.value_or(c.D / max_heads);
  const std::int64_t Ev = keys.count_or("attention.value_length", kMaxHeadWidth,
                                        key_length && c.D % max_heads != 0 ? E : c.D / max_heads);
  const std::int64_t widest = std::max(E, Ev);
  if (max_heads * widest > kMaxWidth) {
    keys.refuse("attention.head_count", max_heads,
                fmt::format("at most {} for heads of {}", kMaxWidth / widest, widest));
  }
  for (std::size_t i = 0; i < c.layers.size(); ++i) {
    LayerHparams& layer = c.layers[i];
    layer = {.H = heads[i], .G = groups[i], .E = E, .Ev = Ev, .F = layer.F};
    if (layer.G > 0 && layer.H % layer.G != 0) {
      keys.refuse("attention.head_count_kv", layer.G,
                  fmt::format("a divisor of the {} heads", layer.H));
    }
  }
}

void read_ffn_widths(const Keys& keys, const LayerMinima& minima, Hparams& c) {
  const auto widths = keys.find_counts("feed_forward_length", c.L, minima.F, kMaxWidth);
  if (widths.empty()) keys.missing("feed_forward_length");
  for (std::size_t i = 0; i < widths.size(); ++i) c.layers[i].F = widths[i];
}

RopeScaling read_scaling_type(const Keys& keys) {
  const auto name = keys.source().find_string(keys.name("rope.scaling.type"));
  if (!name || *name == "linear") return RopeScaling::linear;
  if (*name == "none") return RopeScaling::none;
  if (*name == "yarn") return RopeScaling::yarn;
  if (*name == "longrope") return RopeScaling::longrope;
  fail<UnsupportedError>("{}: key '{}' is '{}' (known: none, linear, yarn, longrope)",
                         keys.source().file(), keys.name("rope.scaling.type"),
                         arch::short_name(*name));
}

// Source of YaRN's magnitude: Peng et al. 2023, arXiv:2309.00071, section 3.4; rope_angles applies
// it.
void read_rope(const Keys& keys, Hparams& c) {
  constexpr double kLargest = 1e6;
  const std::int64_t E = c.layer(0).E;
  const std::int64_t n_rot = keys.count_or("rope.dimension_count", kMaxHeadWidth, E);
  if (n_rot % 2 != 0) keys.refuse("rope.dimension_count", n_rot, "even");
  if (n_rot > E)
    keys.refuse("rope.dimension_count", n_rot, fmt::format("at most the {} elements of a head", E));
  c.rope.n_rot = static_cast<std::int32_t>(n_rot);
  c.rope.base = keys.number_or("rope.freq_base", 1e-3, 1e18, 10000);
  c.rope.original_context = static_cast<std::int32_t>(
      keys.count_or("rope.scaling.original_context_length", kMaxPositions, c.context));

  c.rope_scaling = read_scaling_type(keys);
  const auto factor = keys.find_number("rope.scaling.factor", 0, kLargest);
  const float stretch =
      factor ? *factor : keys.number_or("rope.scale_linear", 0, kLargest, 0);  // 0: none
  const bool scales = c.rope_scaling != RopeScaling::none && stretch != 0;
  if (scales && stretch < 1e-3f) keys.refuse("rope.scaling.factor", stretch, "0 or at least 0.001");
  c.rope.freq_scale = scales ? 1 / stretch : 1;

  c.rope.attn_factor = keys.number_or("rope.scaling.attn_factor", -kLargest, kLargest, 1);
  if (c.rope_scaling == RopeScaling::yarn) {
    c.rope.ext_factor = keys.number_or("rope.scaling.yarn_ext_factor", -kLargest, kLargest, 1);
    if (c.rope.ext_factor < 0) c.rope.ext_factor = 1;  // "choose yourself"
    c.rope.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 0, kLargest, 32);
    c.rope.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 0, kLargest, 1);
  }
  if (c.rope.ext_factor == 0) {
    c.rope.attn_factor *= keys.number_or("rope.scaling.yarn_attn_factor", -kLargest, kLargest, 1);
  }
}

}  // namespace

Hparams read_hparams(const Keys& keys, const LayerMinima& minima) {
  Hparams c;
  c.arch = keys.arch();
  c.context = keys.count("context_length", kMaxPositions);
  c.D = keys.count("embedding_length", kMaxWidth);
  c.L = keys.count("block_count", kMaxLayers);
  c.layers.resize(static_cast<std::size_t>(c.L));
  read_ffn_widths(keys, minima, c);
  c.V = read_vocabulary(keys);
  read_heads(keys, minima, c);
  const auto eps = keys.find_number("attention.layer_norm_rms_epsilon", 1e-30, 1);
  if (!eps) keys.missing("attention.layer_norm_rms_epsilon");
  c.eps = *eps;
  c.n_experts = read_experts(keys);
  read_rope(keys, c);
  return c;
}

void require_dense(const Keys& keys, const Hparams& c) {
  if (c.n_experts == 0) return;
  fail<UnsupportedError>("{}: mixture of {} experts ({}) is not supported", keys.source().file(),
                         c.n_experts, keys.name("expert_count"));
}

}  // namespace weft

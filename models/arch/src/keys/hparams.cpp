#include "weft/arch/hparams.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"

#include "decoder/text.h"

namespace weft::arch {
namespace {

// Far above every known model, and low enough that products of a few of them fit in 63 bits.
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeads = 1 << 16;
constexpr std::int64_t kMaxHeadWidth = 1 << 16;
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxVocabulary = 1 << 26;
constexpr std::int64_t kMaxExperts = 1 << 16;
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

void read_heads(const Keys& keys, const HparamsRules& rules, Hparams& c) {
  const auto heads = keys.find_counts("attention.head_count", c.L, rules.min_H, kMaxHeads);
  if (heads.empty()) keys.missing("attention.head_count");
  auto groups = keys.find_counts("attention.head_count_kv", c.L, rules.min_G, kMaxHeads);
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

void read_ffn_widths(const Keys& keys, const HparamsRules& rules, Hparams& c) {
  const auto widths = keys.find_counts("feed_forward_length", c.L, rules.min_F, kMaxWidth);
  if (widths.empty() && rules.min_F > 0) keys.missing("feed_forward_length");
  for (std::size_t i = 0; i < widths.size(); ++i) c.layers[i].F = widths[i];
}

RopeScaling read_scaling_type(const Keys& keys) {
  const auto name = keys.source().find_string(keys.name("rope.scaling.type"));
  if (!name || *name == "linear") return RopeScaling::linear;
  if (*name == "none") return RopeScaling::none;
  if (*name == "yarn") return RopeScaling::yarn;
  if (*name == "longrope") return RopeScaling::longrope;
  fail<UnsupportedError>("{}: key '{}' is '{}' (known: none, linear, yarn, longrope)",
                         keys.source().file(), keys.name("rope.scaling.type"), short_name(*name));
}

// The number of rotated elements of a head of E; `fallback`, or E if it is larger, if the key is
// absent.
std::int32_t read_n_rot(const Keys& keys, std::string_view key, std::int64_t E,
                        std::int64_t fallback) {
  const std::int64_t n_rot = keys.count_or(key, kMaxHeadWidth, std::min(fallback, E));
  if (n_rot % 2 != 0) keys.refuse(key, n_rot, "even");
  if (n_rot > E) keys.refuse(key, n_rot, fmt::format("at most the {} elements of a head", E));
  return static_cast<std::int32_t>(n_rot);
}

// Source of YaRN's magnitude: Peng et al. 2023, arXiv:2309.00071, section 3.4; rope_angles applies
// it. In models with mscale_all_dim (yarn_log_multiplier), m(mscale) / m(mscale_all_dim) takes its
// place, as in transformers' modeling_rope_utils.py. All published ones have the same mscale, which
// files do not hold: it is 1.
void read_rope(const Keys& keys, Hparams& c) {
  constexpr double kLargest = 1e6;
  const std::int64_t E = c.layer(0).E;
  c.rope.n_rot = read_n_rot(keys, "rope.dimension_count", E, E);
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
    const bool cancels = keys.number_or("rope.scaling.yarn_log_multiplier", 0, 1e3, 0) != 0;
    if (cancels && c.rope.ext_factor != 0) c.rope.attn_factor /= yarn_magnitude(stretch);
  }
  if (c.rope.ext_factor == 0) {
    c.rope.attn_factor *= keys.number_or("rope.scaling.yarn_attn_factor", -kLargest, kLargest, 1);
  }
}

}  // namespace

float yarn_magnitude(float stretch, float weight) {
  return 1 + weight * std::log(std::max(1.0f, stretch));
}

Hparams read_hparams(const Keys& keys, const HparamsRules& rules) {
  Hparams c;
  c.arch = keys.arch();
  c.context = keys.count("context_length", kMaxPositions);
  c.D = keys.count("embedding_length", kMaxWidth);
  c.L = keys.count("block_count", kMaxLayers);
  c.layers.resize(static_cast<std::size_t>(c.L));
  read_ffn_widths(keys, rules, c);
  c.V = read_vocabulary(keys);
  read_heads(keys, rules, c);
  c.norm = rules.norm;
  c.causal = keys.flag_or("attention.causal", rules.causal);
  const std::string_view eps_key =
      c.norm == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  c.eps = keys.number(eps_key, 1e-30, 1);
  c.clamp_qkv = keys.number_or("attention.clamp_kqv", 0, 1e30, 0);
  read_rope(keys, c);
  c.n_nextn = keys.size_or("nextn_predict_layers", 0, c.L - 1, 0);
  c.L -= c.n_nextn;
  return c;
}

void require_dense(const Keys& keys, const Hparams&) {
  const std::int64_t n = keys.size_or("expert_count", 0, kMaxExperts, 0);
  if (n == 0) return;
  fail<UnsupportedError>("{}: mixture of {} experts ({}) is not supported", keys.source().file(), n,
                         keys.name("expert_count"));
}

namespace {

Gating read_gating(const Keys& keys, Gating fallback) {
  constexpr std::string_view kKey = "expert_gating_func";
  const std::int64_t number = keys.size_or(kKey, 0, INT32_MAX, 0);
  switch (number) {
    case 0:
      return fallback;
    case 1:
      return Gating::softmax;
    case 2:
      return Gating::sigmoid;
    case 3:
      return Gating::softmax_of_chosen;
    case 4:
      return Gating::sqrt_softplus;
    default:
      keys.refuse(kKey, number,
                  "0 (not set), 1 (softmax), 2 (sigmoid), 3 (softmax of the chosen) or 4 (root of "
                  "softplus)");
  }
}

void read_expert_widths(const Keys& keys, const Hparams& c, const ExpertRules& rules,
                        ExpertHparams& x) {
  const std::int64_t ffn = c.layer(c.L - 1).F;
  x.F = rules.width == ExpertWidth::ffn
            ? ffn
            : keys.size_or("expert_feed_forward_length", 0, kMaxWidth, 0);
  if (x.F == 0 && rules.width == ExpertWidth::own_or_ffn) x.F = ffn;
  if (x.F == 0) x.F = keys.count("expert_feed_forward_length", kMaxWidth);
  const std::int64_t n_shared = keys.size_or("expert_shared_count", 0, kMaxExperts, 0);
  if (x.F * n_shared > kMaxWidth)
    keys.refuse("expert_shared_count", n_shared, fmt::format("at most {}", kMaxWidth / x.F));
  x.shared_F = keys.size_or("expert_shared_feed_forward_length", 0, kMaxWidth, x.F * n_shared);
}

void read_groups(const Keys& keys, ExpertHparams& x) {
  x.n_groups = std::max<std::int64_t>(1, keys.size_or("expert_group_count", 0, x.X, 1));
  if (x.X % x.n_groups != 0) {
    keys.refuse("expert_group_count", x.n_groups, fmt::format("a divisor of {} experts", x.X));
  }
  x.used_groups = keys.size_or("expert_group_used_count", 0, x.n_groups, x.n_groups);
  if (x.used_groups == 0) x.used_groups = x.n_groups;
  const std::int64_t n_considered = x.X / x.n_groups * x.used_groups;
  if (x.K > n_considered) {
    keys.refuse("expert_used_count", x.K,
                fmt::format("at most the {} experts of the groups that are used", n_considered));
  }
}

// Whether the file has the tensors of an ffn for layer i, and no router.
bool has_dense_ffn(const Keys& keys, std::int64_t i) {
  const auto has = [&](std::string_view tensor) {
    return keys.source().find_tensor(fmt::format("blk.{}.{}.weight", i, tensor)) != nullptr;
  };
  return has("ffn_up") && !has("ffn_gate_inp");
}

}  // namespace

void read_experts(const Keys& keys, Hparams& c, const ExpertRules& rules) {
  ExpertHparams x;
  x.X = keys.size_or("expert_count", 0, kMaxExperts, 0);
  if (x.X == 0 && rules.required) x.X = keys.count("expert_count", kMaxExperts);
  if (x.X == 0) return;
  x.K = keys.count("expert_used_count", x.X);
  read_expert_widths(keys, c, rules, x);
  read_groups(keys, x);
  x.gating = read_gating(keys, rules.gating);
  x.normalize = keys.flag_or("expert_weights_norm", rules.normalize);
  const float scale = keys.number_or("expert_weights_scale", -1e6, 1e6, 1);
  x.scale = scale == 0 ? 1 : scale;
  const std::int64_t n_dense = keys.size_or("leading_dense_block_count", 0, c.L, 0);
  const std::int64_t step =
      std::max<std::int64_t>(1, keys.size_or("interleave_moe_layer_step", 0, c.L, 1));
  for (std::int64_t i = n_dense; i < c.L; ++i)
    c.layers[static_cast<std::size_t>(i)].experts = (i + 1) % step == 0;
  for (std::int64_t i = c.L; i < c.L + c.n_nextn; ++i)
    c.layers[static_cast<std::size_t>(i)].experts = !has_dense_ffn(keys, i);
  c.experts = x;
}

void read_expert_limits(const Keys& keys, Hparams& c) {
  const auto read = [&](std::string_view key) {
    std::vector<float> limits = keys.source().find_floats(keys.name(key));
    for (const float limit : limits) {
      if (!(limit >= 0)) keys.refuse(key, limit, "0 or a positive limit");
    }
    if (limits.size() == 1) limits.resize(c.layers.size(), limits.front());
    const std::int64_t n = std::ssize(limits);
    if (n > 0 && n != c.L && n != c.L + c.n_nextn)
      keys.refuse(key, fmt::format("{} limits", n),
                  fmt::format("one, or one for each of the {} layers", c.L));
    return limits;
  };
  c.experts.limits = read("swiglu_clamp_exp");
  c.experts.shared_limits = read("swiglu_clamp_shexp");
}

IndexerHparams read_indexer(const Keys& keys, const Hparams& c) {
  IndexerHparams n;
  n.H = keys.count("attention.indexer.head_count", kMaxHeads);
  n.E = keys.count("attention.indexer.key_length", kMaxHeadWidth);
  if (n.E < c.rope.n_rot)
    keys.refuse("attention.indexer.key_length", n.E,
                fmt::format("at least the {} elements that rope turns", c.rope.n_rot));
  n.top_k = static_cast<std::int32_t>(keys.count("attention.indexer.top_k", INT32_MAX));
  return n;
}

void read_windows(const Keys& keys, Hparams& c, std::int64_t period, const WindowRules& rules) {
  const std::int64_t window =
      keys.size_or("attention.sliding_window", 0, kMaxPositions, rules.window);
  if (window == 0) return;
  const std::vector<std::int64_t> flags =
      keys.source().find_ints(keys.name("attention.sliding_window_pattern"));
  if (flags.size() == 1) period = flags.front();
  if (flags.size() > 1 && std::ssize(flags) != c.L + c.n_nextn) {
    keys.refuse("attention.sliding_window_pattern", fmt::format("{} flags", flags.size()),
                fmt::format("a period, or a flag for each of the {} layers", c.L + c.n_nextn));
  }
  for (std::int64_t i = 0; i < c.L + c.n_nextn; ++i) {
    const bool full = period < 2 || i >= c.L || i % period == (rules.full_first ? 0 : period - 1);
    const bool windowed = flags.size() > 1 ? flags[static_cast<std::size_t>(i)] != 0 : !full;
    c.layers[static_cast<std::size_t>(i)].window = windowed ? window : 0;
  }
}

void read_local_heads(const Keys& keys, Hparams& c) {
  for (LayerHparams& layer : c.layers) {
    if (layer.window == 0) continue;
    layer.E = keys.count_or("attention.key_length_swa", kMaxHeadWidth, layer.E);
    layer.Ev = keys.count_or("attention.value_length_swa", kMaxHeadWidth, layer.Ev);
    const std::int64_t widest = std::max(layer.E, layer.Ev);
    if (layer.H * widest > kMaxWidth) {
      keys.refuse("attention.head_count", layer.H,
                  fmt::format("at most {} for heads of {}", kMaxWidth / widest, widest));
    }
  }
}

RopeAttrs read_local_rope(const Keys& keys, Hparams& c, float base) {
  RopeAttrs local = c.rope;
  for (const LayerHparams& layer : c.layers) {
    if (layer.window > 0)
      local.n_rot = read_n_rot(keys, "rope.dimension_count_swa", layer.E, local.n_rot);
  }
  local.base = keys.number_or("rope.freq_base_swa", 1e-3, 1e18, base);
  local.freq_scale = 1;
  local.ext_factor = 0;
  local.attn_factor = 1;
  for (LayerHparams& layer : c.layers) {
    if (layer.window > 0) layer.rope = LayerRope::second;
  }
  return local;
}

void read_recurrent_layers(const Keys& keys, Hparams& c, std::int64_t period) {
  const auto flags = keys.find_counts("attention.recurrent_layers", c.L + c.n_nextn, 0, 1);
  period = keys.count_or("full_attention_interval", kMaxLayers, period);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const bool recurrent = flags.empty() ? (i + 1) % period != 0 : flags[index] != 0;
    if (recurrent) c.layers[index].G = 0;
  }
}

void read_sections(const Keys& keys, Hparams& c, bool interleaved) {
  const std::vector<std::int64_t> sizes =
      keys.source().find_ints(keys.name("rope.dimension_sections"));
  if (sizes.empty()) return;
  const bool fits = sizes.size() >= 3 && sizes.size() <= 4 && std::ranges::min(sizes) >= 0 &&
                    std::ranges::max(sizes) <= kMaxHeadWidth;
  if (!fits) {
    const std::string found = sizes.size() > 4 ? fmt::format("{} numbers", sizes.size())
                                               : fmt::format("[{}]", fmt::join(sizes, ", "));
    keys.refuse("rope.dimension_sections", found,
                fmt::format("3 or 4 numbers from 0 to {}", kMaxHeadWidth));
  }
  c.rope.time = static_cast<std::int32_t>(sizes[0]);
  c.rope.height = static_cast<std::int32_t>(sizes[1]);
  c.rope.width = static_cast<std::int32_t>(sizes[2]);
  c.rope.interleaved = interleaved;
}

void read_shared_kv(const Keys& keys, Hparams& c, std::int64_t n_shared) {
  n_shared = keys.size_or("attention.shared_kv_layers", 0, c.L - 1, n_shared);
  for (std::int64_t i = c.L - n_shared; i < c.L; ++i) {
    LayerHparams& layer = c.layers[static_cast<std::size_t>(i)];
    layer.kv_of = c.L - n_shared - 1;
    while (layer.kv_of >= 0 && c.layer(layer.kv_of).window != layer.window) --layer.kv_of;
    if (layer.kv_of < 0) {
      keys.refuse("attention.shared_kv_layers", n_shared,
                  fmt::format("fewer: no layer before them has the window of layer {}", i));
    }
    const std::int64_t G = c.layer(layer.kv_of).G;
    if (layer.G != G) {
      keys.refuse(
          "attention.head_count_kv", layer.G,
          fmt::format("{} in layer {}, as in layer {}, whose keys it shares", G, i, layer.kv_of));
    }
  }
}

void rope_in_windows_only(Hparams& c) {
  for (LayerHparams& layer : c.layers) {
    if (layer.window == 0) layer.rope = LayerRope::none;
  }
}

void refuse_config(const Hparams& c, const std::type_info& wanted, SourceLine where) {
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(wanted.name(), nullptr, nullptr, nullptr), std::free);
  const std::string_view full = name ? name.get() : wanted.name();
  fail<ValueError>("{} needs the config {}, got that of architecture '{}'", to_string(where),
                   full.substr(full.rfind(':') + 1), c.arch);
}

}  // namespace weft::arch

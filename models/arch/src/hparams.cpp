#include "weft/arch/hparams.h"

#include <algorithm>
#include <cmath>

#include "weft/base/error.h"

#include "text.h"

namespace weft {
namespace {

// Far above every known model and low enough that no product of a few of them leaves 63 bits.
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeads = 1 << 16;
constexpr std::int64_t kMaxHeadWidth = 1 << 16;
constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxVocabulary = 1 << 26;
constexpr std::uint64_t kMaxExperts = 1 << 16;
constexpr std::int64_t kMaxPositions = (std::int64_t{1} << 31) - 1;

// Reads keys of one architecture.
class Reader {
 public:
  Reader(const ModelSource& source, std::string_view arch) : source_(source), arch_(arch) {}

  std::string key(std::string_view name) const { return fmt::format("{}.{}", arch_, name); }

  // A whole number in 1..max. Layers with numbers of their own must agree.
  std::optional<std::int64_t> find_count(std::string_view name, std::int64_t max) const {
    const std::vector<std::int64_t> values = source_.find_ints(key(name));
    if (values.empty()) return std::nullopt;
    const std::int64_t value = values.front();
    if (std::ranges::any_of(values, [&](std::int64_t v) { return v != value; })) {
      fail<UnsupportedError>(
          "{}: key '{}' differs from layer to layer, which architecture '{}' cannot have",
          source_.file(), key(name), arch_);
    }
    if (value < 1 || value > max) refuse(name, value, fmt::format("1..{}", max));
    return value;
  }
  std::int64_t count(std::string_view name, std::int64_t max) const {
    if (const auto value = find_count(name, max)) return *value;
    fail<FormatError>("{}: key '{}' is missing", source_.file(), key(name));
  }
  std::int64_t count_or(std::string_view name, std::int64_t max, std::int64_t fallback) const {
    return find_count(name, max).value_or(fallback);
  }

  std::optional<float> find_number(std::string_view name, double min, double max) const {
    const auto value = source_.find_float(key(name));
    if (!value) return std::nullopt;
    if (!(*value >= min && *value <= max))
      refuse(name, *value, fmt::format("within {}..{}", min, max));
    return static_cast<float>(*value);
  }
  float number_or(std::string_view name, double min, double max, float fallback) const {
    return find_number(name, min, max).value_or(fallback);
  }

  template <class T>
  [[noreturn]] void refuse(std::string_view name, T value, std::string_view allowed) const {
    fail<FormatError>("{}: key '{}' is {}, must be {}", source_.file(), key(name), value, allowed);
  }

 private:
  const ModelSource& source_;
  std::string_view arch_;
};

std::int64_t read_vocabulary(const ModelSource& source, const Reader& read) {
  const std::int64_t n_tokens = source.array_size("tokenizer.ggml.tokens");
  if (n_tokens > kMaxVocabulary) {
    fail<FormatError>("{}: a vocabulary of {} tokens, at most {} are allowed", source.file(),
                      n_tokens, kMaxVocabulary);
  }
  return n_tokens > 0 ? n_tokens : read.count("vocab_size", kMaxVocabulary);
}

std::int64_t read_experts(const ModelSource& source, const Reader& read) {
  const std::uint64_t n = source.find_uint(read.key("expert_count")).value_or(0);
  if (n > kMaxExperts) read.refuse("expert_count", n, fmt::format("0..{}", kMaxExperts));
  return static_cast<std::int64_t>(n);
}

void read_heads(const Reader& read, Hparams& c) {
  c.H = read.count("attention.head_count", kMaxHeads);
  c.G = read.count_or("attention.head_count_kv", kMaxHeads, c.H);
  if (c.H % c.G != 0)
    read.refuse("attention.head_count_kv", c.G, fmt::format("a divisor of the {} heads", c.H));
  const auto key_length = read.find_count("attention.key_length", kMaxHeadWidth);
  if (!key_length && c.D % c.H != 0) {
    read.refuse("attention.head_count", c.H,
                fmt::format("a divisor of the embedding length {}", c.D));
  }
  c.E = key_length.value_or(c.D / c.H);
  c.Ev = read.count_or("attention.value_length", kMaxHeadWidth,
                       key_length && c.D % c.H != 0 ? c.E : c.D / c.H);
  const std::int64_t widest = std::max(c.E, c.Ev);
  if (c.H * widest > kMaxWidth) {
    read.refuse("attention.head_count", c.H,
                fmt::format("at most {} for heads of {}", kMaxWidth / widest, widest));
  }
}

RopeScaling read_scaling_type(const ModelSource& source, const Reader& read) {
  const auto name = source.find_string(read.key("rope.scaling.type"));
  if (!name || *name == "linear") return RopeScaling::linear;
  if (*name == "none") return RopeScaling::none;
  if (*name == "yarn") return RopeScaling::yarn;
  if (*name == "longrope") return RopeScaling::longrope;
  fail<UnsupportedError>("{}: key '{}' is '{}'; known are none, linear, yarn and longrope",
                         source.file(), read.key("rope.scaling.type"), short_name(*name));
}

// Source of YaRN's magnitude: Peng et al. 2023, arXiv:2309.00071, section 3.4; rope_angles applies
// it.
void read_rope(const ModelSource& source, const Reader& read, Hparams& c) {
  constexpr double kLargest = 1e6;
  const std::int64_t n_rot = read.count_or("rope.dimension_count", kMaxHeadWidth, c.E);
  if (n_rot % 2 != 0) read.refuse("rope.dimension_count", n_rot, "even");
  if (n_rot > c.E)
    read.refuse("rope.dimension_count", n_rot,
                fmt::format("at most the {} elements of a head", c.E));
  c.rope.n_rot = static_cast<std::int32_t>(n_rot);
  c.rope.base = read.number_or("rope.freq_base", 1e-3, 1e18, 10000);
  c.rope.original_context = static_cast<std::int32_t>(
      read.count_or("rope.scaling.original_context_length", kMaxPositions, c.context));

  c.rope_scaling = read_scaling_type(source, read);
  const auto factor = read.find_number("rope.scaling.factor", 0, kLargest);
  const float stretch =
      factor ? *factor : read.number_or("rope.scale_linear", 0, kLargest, 0);  // 0: none
  const bool scales = c.rope_scaling != RopeScaling::none && stretch != 0;
  if (scales && stretch < 1e-3f) read.refuse("rope.scaling.factor", stretch, "0 or at least 0.001");
  c.rope.freq_scale = scales ? 1 / stretch : 1;

  c.rope.attn_factor = read.number_or("rope.scaling.attn_factor", -kLargest, kLargest, 1);
  if (c.rope_scaling == RopeScaling::yarn) {
    c.rope.ext_factor = read.number_or("rope.scaling.yarn_ext_factor", -kLargest, kLargest, 1);
    if (c.rope.ext_factor < 0) c.rope.ext_factor = 1;  // "choose yourself"
    c.rope.beta_fast = read.number_or("rope.scaling.yarn_beta_fast", 0, kLargest, 32);
    c.rope.beta_slow = read.number_or("rope.scaling.yarn_beta_slow", 0, kLargest, 1);
  }
  if (c.rope.ext_factor == 0) {
    c.rope.attn_factor *= read.number_or("rope.scaling.yarn_attn_factor", -kLargest, kLargest, 1);
  }
}

}  // namespace

Hparams read_hparams(const ModelSource& source, std::string_view arch) {
  const Reader read(source, arch);
  Hparams c;
  c.arch = arch;
  c.context = read.count("context_length", kMaxPositions);
  c.D = read.count("embedding_length", kMaxWidth);
  c.L = read.count("block_count", kMaxLayers);
  c.F = read.count("feed_forward_length", kMaxWidth);
  c.V = read_vocabulary(source, read);
  read_heads(read, c);
  const auto eps = read.find_number("attention.layer_norm_rms_epsilon", 1e-30, 1);
  if (!eps)
    fail<FormatError>("{}: key '{}' is missing", source.file(),
                      read.key("attention.layer_norm_rms_epsilon"));
  c.eps = *eps;
  c.attention_scale = 1 / std::sqrt(static_cast<float>(c.E));
  c.n_experts = read_experts(source, read);
  read_rope(source, read, c);
  return c;
}

}  // namespace weft

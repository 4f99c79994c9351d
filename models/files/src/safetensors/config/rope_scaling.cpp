#include "safetensors/config/rope_scaling.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/config/known_keys.h"

namespace weft::safetensors {
namespace {

constexpr std::uint64_t kMaxHeadWidth = 1 << 16;

double positive(const JsonObject& json, std::string_view key) {
  const auto value = json.find_number(key);
  if (!value || !(*value > 0) || !(*value < 1e18)) json.mismatch(key, "a number above 0");
  return *value;
}

std::uint32_t context(const JsonObject& json, std::string_view key) {
  const auto value = json.find_uint(key);
  if (!value || *value == 0 || *value > INT32_MAX) json.mismatch(key, "1 to 2^31 - 1");
  return static_cast<std::uint32_t>(*value);
}

// Angles that rotate rarely within the original context are divided by `factor`, those that rotate
// often are unchanged, with a linear ramp between. Source: Grattafiori et al. 2024,
// arXiv:2407.21783, and `_compute_llama3_parameters` of transformers, which has these names.
std::vector<float> llama3_factors(const JsonObject& scaling, double base,
                                  std::uint64_t head_width) {
  const double factor = positive(scaling, "factor");
  const double low = positive(scaling, "low_freq_factor");
  const double high = positive(scaling, "high_freq_factor");
  const double original = context(scaling, "original_max_position_embeddings");
  if (high <= low) scaling.mismatch("high_freq_factor", "above low_freq_factor");
  std::vector<float> factors;
  for (std::uint64_t i = 0; i < head_width / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_width);
    const double turns = original / (2 * std::numbers::pi * std::pow(base, exponent));
    const double smooth = (turns - low) / (high - low);
    const double divisor = turns < low    ? factor
                           : turns > high ? 1
                                          : 1 / ((1 - smooth) / factor + smooth);
    factors.push_back(static_cast<float>(divisor));
  }
  return factors;
}

// The magnitude of YaRN (arXiv:2309.00071, section 3.4) that readers assume unless a file has
// another one.
double yarn_magnitude(double factor, double weight = 1) {
  return factor <= 1 ? 1 : 1 + 0.1 * weight * std::log(factor);
}
double stated_magnitude(const JsonObject& scaling, double factor) {
  if (scaling.find("attention_factor")) return positive(scaling, "attention_factor");
  if (!scaling.find("mscale") || !scaling.find("mscale_all_dim")) return yarn_magnitude(factor);
  return yarn_magnitude(factor, positive(scaling, "mscale")) /
         yarn_magnitude(factor, positive(scaling, "mscale_all_dim"));
}

// The settings of rope: "rope_scaling", or "rope_parameters" in newer files, which also has
// rope_theta, and in models with windows one object for each kind of layer.
struct Settings {
  std::optional<JsonObject> full, in_windows;
};
Settings find_settings(const JsonObject& json) {
  if (auto scaling = json.find_object("rope_scaling")) return {scaling, {}};
  const auto all = json.find_object("rope_parameters");
  if (!all || !all->find("full_attention")) return {all, {}};
  return {all->find_object("full_attention"), all->find_object("sliding_attention")};
}

// Layers with windows have plain rope.
void check_parts(const Settings& settings, const OpenOptions& options) {
  for (const auto& part : {settings.full, settings.in_windows}) {
    if (part && !options.allow_unknown_settings) check_known_rope_keys(*part);
  }
  if (!settings.in_windows) return;
  const auto type = settings.in_windows->find_string("rope_type");
  if (!type || *type == "default") return;
  fail<UnsupportedError>("{}: '{}' is '{}', which is not supported",
                         printable_path(settings.in_windows->file()),
                         settings.in_windows->name("rope_type"), printable(*type));
}

class Rope {
 public:
  Rope(const arch::HuggingFace& tables, ConfigKeys& keys)
      : tables_(tables), json_(keys.json()), keys_(keys) {}

  // The rotated elements of a head.
  std::uint64_t add_width(std::uint64_t head_width, const std::optional<JsonObject>& scaling) {
    const std::string_view share_key =
        tables_.rope_share.empty() ? "partial_rotary_factor" : tables_.rope_share;
    double share = json_.find_number(share_key).value_or(tables_.usual_rope_share);
    if (scaling) share = scaling->find_number("partial_rotary_factor").value_or(share);
    if (tables_.rope_share.empty() && share != 1) {
      fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json_.file()),
                             json_.name(share_key), share);
    }
    if (!(share > 0) || !(share <= 1)) json_.mismatch(share_key, "above 0, at most 1");
    const auto width = static_cast<std::uint64_t>(static_cast<double>(head_width) * share);
    if (const auto given = keys_.find("rope.dimension_count"))
      return static_cast<std::uint64_t>(*given);
    keys_.add_count("rope.dimension_count", width, "head_dim");
    return width;
  }

  double add_base() {
    if (const auto given = keys_.find("rope.freq_base")) return *given;
    if (!json_.find("rope_theta")) return add_usual_base();
    const double base = positive(json_, "rope_theta");
    keys_.add_number("rope.freq_base", base);
    return base;
  }

  void begin(std::string_view type, const JsonObject& scaling) {
    keys_.add_text("rope.scaling.type", type);
    keys_.add_number("rope.scaling.factor", positive(scaling, "factor"));
  }

  void add_yarn(const JsonObject& scaling) {
    begin("yarn", scaling);
    add_original_context(scaling);
    if (!scaling.find_bool("truncate").value_or(true)) {
      fail<UnsupportedError>("{}: '{}' is false, which is not supported",
                             printable_path(json_.file()), scaling.name("truncate"));
    }
    for (const char* beta : {"beta_fast", "beta_slow"}) {
      if (scaling.find(beta))
        keys_.add_number(fmt::format("rope.scaling.yarn_{}", beta), positive(scaling, beta));
    }
    if (tables_.latent_yarn) return add_score_magnitude(scaling);
    const double factor = positive(scaling, "factor");
    const double ratio = stated_magnitude(scaling, factor) / yarn_magnitude(factor);
    if (std::fabs(ratio - 1) > 1e-6) keys_.add_number("rope.scaling.attn_factor", ratio);
  }

  // Microsoft's LongRoPE (arXiv:2402.13753): a set of divisors within the original context, and
  // another one beyond it.
  std::vector<NamedFloats> add_longrope(const JsonObject& scaling, std::uint64_t width) {
    const double original = add_original_context(scaling);
    if (original < 2) json_.mismatch("original_max_position_embeddings", "at least 2");
    const double longest = context(json_, "max_position_embeddings");
    const double stretch =
        scaling.find("factor") ? positive(scaling, "factor") : longest / original;
    double magnitude = stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(original));
    if (scaling.find("attention_factor")) magnitude = positive(scaling, "attention_factor");
    if (magnitude != 1) keys_.add_number("rope.scaling.attn_factor", magnitude);
    return {{"rope_factors_long.weight", factors(scaling, "long_factor", width)},
            {"rope_factors_short.weight", factors(scaling, "short_factor", width)}};
  }

 private:
  double add_usual_base() {
    constexpr double kOfReaders = 10000;  // if a GGUF file does not say
    const double base = tables_.absent_keys(keys_.type()).rope_base;
    if (base != kOfReaders) keys_.add_number("rope.freq_base", base);
    return base;
  }

  std::uint32_t add_original_context(const JsonObject& scaling) {
    const char* original = "original_max_position_embeddings";
    const bool own = scaling.find(original);
    const std::uint32_t length = context(
        own ? scaling : json_, own || json_.find(original) ? original : "max_position_embeddings");
    keys_.add_count("rope.scaling.original_context_length", length, original);
    return length;
  }

  // For DeepSeek's models, whose angles keep their magnitude.
  void add_score_magnitude(const JsonObject& scaling) {
    const auto of_scores = scaling.find_number("mscale_all_dim").value_or(0);
    if (of_scores != scaling.find_number("mscale").value_or(of_scores))
      scaling.mismatch("mscale", "as 'mscale_all_dim'");
    if (of_scores != 0)
      keys_.add_number("rope.scaling.yarn_log_multiplier",
                       0.1 * positive(scaling, "mscale_all_dim"));
  }

  static std::vector<float> factors(const JsonObject& scaling, std::string_view key,
                                    std::uint64_t width) {
    const Json* list = scaling.find(key);
    if (!list || !list->is_array() || list->size() != width / 2)
      scaling.mismatch(key, fmt::format("{} numbers", width / 2));
    std::vector<float> values;
    for (const Json& value : *list) {
      if (!value.is_number() || !(value.get<double>() > 0) || !(value.get<double>() < 1e18))
        scaling.mismatch(key, "numbers above 0");
      values.push_back(static_cast<float>(value.get<double>()));
    }
    return values;
  }

  const arch::HuggingFace& tables_;
  const JsonObject& json_;
  ConfigKeys& keys_;
};

}  // namespace

void add_stated_bases(ConfigKeys& keys) {
  const Settings settings = find_settings(keys.json());
  if (settings.full && settings.full->find("rope_theta"))
    keys.add_number("rope.freq_base", positive(*settings.full, "rope_theta"));
  if (settings.in_windows && settings.in_windows->find("rope_theta"))
    keys.add_number("rope.freq_base_swa", positive(*settings.in_windows, "rope_theta"));
}

std::vector<NamedFloats> read_rope(const arch::HuggingFace& tables, std::uint64_t head_width,
                                   const OpenOptions& options, ConfigKeys& keys) {
  const JsonObject& json = keys.json();
  if (head_width > kMaxHeadWidth) json.mismatch("head_dim", "at most 65536");
  const Settings settings = find_settings(json);
  check_parts(settings, options);
  Rope rope(tables, keys);
  const std::uint64_t width = rope.add_width(head_width, settings.full);
  const double base = rope.add_base();
  if (!settings.full) return {};
  const JsonObject& scaling = *settings.full;
  auto type = scaling.find_string("rope_type");
  if (!type) type = scaling.find_string("type");
  if (!type || *type == "default") return {};
  if (*type == "llama3") return {{"rope_freqs.weight", llama3_factors(scaling, base, width)}};
  if (*type == "longrope" || *type == "su") return rope.add_longrope(scaling, width);
  if (*type == "linear") {
    rope.begin("linear", scaling);
  } else if (*type == "yarn") {
    rope.add_yarn(scaling);
  } else {
    fail<UnsupportedError>(
        "{}: rope scaling '{}' is not supported (supported: linear, llama3, longrope, yarn)",
        printable_path(json.file()), printable(*type));
  }
  return {};
}

}  // namespace weft::safetensors

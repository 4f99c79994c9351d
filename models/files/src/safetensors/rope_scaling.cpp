#include "safetensors/rope_scaling.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

namespace weft::safetensors {
namespace {

constexpr double kDefaultBase = 10000;
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

class Rope {
 public:
  Rope(const JsonObject& json, std::string_view arch, MetadataSink& writer)
      : json_(json), arch_(arch), writer_(writer) {}

  void add(std::string_view key, double value) const {
    writer_.add_f32(fmt::format("{}.rope.{}", arch_, key), static_cast<float>(value));
  }
  void begin(std::string_view type, const JsonObject& scaling) const {
    writer_.add_string(fmt::format("{}.rope.scaling.type", arch_), type);
    add("scaling.factor", positive(scaling, "factor"));
  }
  void add_yarn(const JsonObject& scaling) const {
    begin("yarn", scaling);
    const JsonObject& has_it = scaling.find("original_max_position_embeddings") ? scaling : json_;
    writer_.add_u32(fmt::format("{}.rope.scaling.original_context_length", arch_),
                    context(has_it, &has_it == &scaling ? "original_max_position_embeddings"
                                                        : "max_position_embeddings"));
    if (!scaling.find_bool("truncate").value_or(true)) {
      fail<UnsupportedError>("{}: '{}' is false, which is not supported",
                             printable_path(json_.file()), scaling.name("truncate"));
    }
    if (scaling.find("beta_fast")) add("scaling.yarn_beta_fast", positive(scaling, "beta_fast"));
    if (scaling.find("beta_slow")) add("scaling.yarn_beta_slow", positive(scaling, "beta_slow"));
    const double factor = positive(scaling, "factor");
    const double ratio = stated_magnitude(scaling, factor) / yarn_magnitude(factor);
    if (std::fabs(ratio - 1) > 1e-6) add("scaling.attn_factor", ratio);
  }

 private:
  const JsonObject& json_;
  std::string_view arch_;
  MetadataSink& writer_;
};

// "rope_scaling", or "rope_parameters" in newer files, which also contains rope_theta.
std::optional<JsonObject> find_scaling(const JsonObject& json) {
  if (auto scaling = json.find_object("rope_scaling")) return scaling;
  return json.find_object("rope_parameters");
}

void check_whole_heads(const JsonObject& json) {
  const double share = json.find_number("partial_rotary_factor").value_or(1);
  if (share == 1) return;
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name("partial_rotary_factor"), share);
}

}  // namespace

std::vector<float> read_rope(const JsonObject& json, std::string_view arch,
                             std::uint64_t head_width, MetadataSink& writer) {
  if (head_width > kMaxHeadWidth) json.mismatch("head_dim", "at most 65536");
  check_whole_heads(json);
  const Rope rope(json, arch, writer);
  const auto scaling = find_scaling(json);
  if (scaling) check_whole_heads(*scaling);
  const JsonObject& has_base = scaling && scaling->find("rope_theta") ? *scaling : json;
  double base = kDefaultBase;
  if (has_base.find("rope_theta")) {
    base = positive(has_base, "rope_theta");
    rope.add("freq_base", base);
  }
  if (!scaling) return {};
  auto type = scaling->find_string("rope_type");
  if (!type) type = scaling->find_string("type");
  if (!type || *type == "default") return {};
  if (*type == "llama3") return llama3_factors(*scaling, base, head_width);
  if (*type == "linear") {
    rope.begin("linear", *scaling);
  } else if (*type == "yarn") {
    rope.add_yarn(*scaling);
  } else {
    fail<UnsupportedError>(
        "{}: rope scaling '{}' is not supported (supported: linear, llama3, "
        "yarn)",
        printable_path(json.file()), printable(*type));
  }
  return {};
}

}  // namespace weft::safetensors

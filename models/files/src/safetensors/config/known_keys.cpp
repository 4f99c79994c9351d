#include "safetensors/config/known_keys.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::safetensors {
namespace {

// Read for all models.
constexpr std::string_view kReadKeys[] = {"model_type",          "text_config",
                                          "tie_word_embeddings", "num_nextn_predict_layers",
                                          "quantization_config", "hidden_act"};
constexpr std::string_view kWindowKeys[] = {"sliding_window", "layer_types"};
constexpr std::string_view kRefusedWindowKeys[] = {"use_sliding_window", "max_window_layers"};
constexpr std::string_view kRopeKeys[] = {"rope_theta", "rope_scaling", "rope_parameters",
                                          "original_max_position_embeddings"};
constexpr std::string_view kInRope[] = {"rope_type",        "type",
                                        "rope_theta",       "partial_rotary_factor",
                                        "factor",           "low_freq_factor",
                                        "high_freq_factor", "original_max_position_embeddings",
                                        "attention_factor", "beta_fast",
                                        "beta_slow",        "mscale",
                                        "mscale_all_dim",   "truncate",
                                        "short_factor",     "long_factor",
                                        "finetuned",  // whether the model was trained with it
                                        "full_attention",   "sliding_attention"};

bool is_in(std::span<const std::string_view> list, std::string_view key) {
  return std::ranges::find(list, key) != list.end();
}

bool has_setting(std::span<const arch::HfSetting> settings, std::string_view key) {
  return std::ranges::find(settings, key, &arch::HfSetting::hf_name) != settings.end();
}

bool names(const arch::HfKey& row, std::string_view key) {
  return row.hf_name == key || row.other == key || row.plus == key || row.when == key;
}

// Whether a row of the architecture is always used in place of a usual one.
bool is_replaced(const arch::HfKey& usual, std::span<const arch::HfKey> own) {
  return std::ranges::any_of(own, [&](const arch::HfKey& row) {
    return row.gguf_name == usual.gguf_name && row.if_absent != arch::HfKey::IfAbsent::omit &&
           row.when.empty() && row.type.empty();
  });
}

bool is_in_rows(const arch::HuggingFace& tables, std::string_view key) {
  return std::ranges::any_of(tables.keys,
                             [&](const arch::HfKey& row) { return names(row, key); }) ||
         std::ranges::any_of(arch::usual_hf_keys(), [&](const arch::HfKey& row) {
           return names(row, key) && !is_replaced(row, tables.keys);
         });
}

bool is_rope_key(const arch::HuggingFace& tables, std::string_view key) {
  const std::string_view share =
      tables.rope_share.empty() ? "partial_rotary_factor" : tables.rope_share;
  return tables.rope && (key == share || is_in(kRopeKeys, key));
}

bool is_window_key(const arch::HuggingFace& tables, std::string_view key) {
  const bool may_be_off = tables.windows != arch::HfWindows::by_layer;
  return is_in(kWindowKeys, key) || (may_be_off && is_in(kRefusedWindowKeys, key));
}

bool is_off(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();
}

template <class IsKnown>
void check_keys(const JsonObject& json, const IsKnown& is_known) {
  constexpr std::size_t kMaxShown = 100;
  for (const auto& [key, value] : json.json().items()) {
    if (is_off(value) || is_known(key)) continue;
    fail<UnsupportedError>(
        "{}: '{}' is {}, a setting that Weft does not know and that may change what the model "
        "computes; --allow-unknown-settings ignores it",
        printable_path(json.file()), printable(json.name(key), kMaxShown),
        printable(value.dump(), kMaxShown));
  }
}

}  // namespace

bool is_known_key(const arch::HuggingFace& tables, std::string_view key) {
  return is_in(kReadKeys, key) || is_in_rows(tables, key) || is_rope_key(tables, key) ||
         is_window_key(tables, key) || key == tables.flag || key == tables.tied_key ||
         has_setting(tables.settings, key) || has_setting(arch::usual_hf_settings(), key) ||
         is_in(tables.ignored, key) || is_in(arch::usual_hf_ignored(), key);
}

void check_known_keys(const JsonObject& json, const arch::HuggingFace& tables) {
  check_keys(json, [&](std::string_view key) { return is_known_key(tables, key); });
}

void check_known_rope_keys(const JsonObject& rope) {
  check_keys(rope, [](std::string_view key) { return is_in(kInRope, key); });
}

}  // namespace weft::safetensors

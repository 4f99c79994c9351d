#include "safetensors/config.h"

#include <algorithm>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "safetensors/rope_scaling.h"

namespace weft::safetensors {
namespace {

std::uint32_t fits_u32(const JsonObject& json, std::string_view key, std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    return static_cast<std::uint32_t>(value);
  json.mismatch(key, "below 2^31");
}

// Adds the keys "ARCH.*" of config.json's numbers.
class KeyWriter {
 public:
  KeyWriter(const JsonObject& json, std::string_view arch, MetadataSink& writer)
      : json_(json), arch_(arch), writer_(writer) {}

  void add(const HfKey& about) const {
    std::string_view hf_name = about.hf_name;
    if (!json_.find(hf_name)) {
      if (about.if_absent == HfKey::IfAbsent::omit) return;
      if (about.if_absent == HfKey::IfAbsent::same_as) hf_name = about.other;
    }
    const bool by_default = about.if_absent == HfKey::IfAbsent::use_default && !json_.find(hf_name);
    const std::string key = name(about.gguf_name);
    switch (about.kind) {
      case HfKey::Kind::count:
        return writer_.add_u32(key, by_default ? static_cast<std::uint32_t>(about.value)
                                               : fits_u32(json_, hf_name, json_.uint(hf_name)));
      case HfKey::Kind::number:
        return writer_.add_f32(key, static_cast<float>(by_default ? about.value : number(hf_name)));
      case HfKey::Kind::flag:
        return writer_.add_bool(key, by_default ? about.value != 0 : flag(hf_name));
    }
  }
  std::string name(std::string_view key) const { return fmt::format("{}.{}", arch_, key); }

 private:
  double number(std::string_view key) const {
    if (const auto value = json_.find_number(key)) return *value;
    fail<FormatError>("{}: '{}' is missing", printable_path(json_.file()), json_.name(key));
  }
  bool flag(std::string_view key) const {
    if (const auto value = json_.find_bool(key)) return *value;
    fail<FormatError>("{}: '{}' is missing", printable_path(json_.file()), json_.name(key));
  }

  const JsonObject& json_;
  std::string_view arch_;
  MetadataSink& writer_;
};

[[noreturn]] void unsupported(const JsonObject& json, std::string_view key, const Json& value) {
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name(key), printable(value.dump()));
}

void check_activation(const JsonObject& json, const HuggingFace& tables) {
  const auto name = json.find_string("hidden_act");
  if (name && std::ranges::find(tables.activations, *name) == tables.activations.end())
    unsupported(json, "hidden_act", *name);
}

void check_quantization(const JsonObject& json) {
  const auto about = json.find_object("quantization_config");
  if (!about) return;
  fail<UnsupportedError>(
      "{}: the weights are quantized ('quantization_config', method '{}'); use the checkpoint that "
      "was quantized",
      printable_path(json.file()), printable(about->find_string("quant_method").value_or("?")));
}

// Refuses layers with sliding windows. Newer files list the kinds of all layers; then only the list
// counts.
void check_windows(const JsonObject& json) {
  if (const Json* kinds = json.find("layer_types")) {
    if (!kinds->is_array()) json.mismatch("layer_types", "an array");
    for (const Json& kind : *kinds) {
      if (kind != "full_attention") unsupported(json, "layer_types", kind);
    }
    return;
  }
  const auto window = json.find_uint("sliding_window");
  if (!window || !json.find_bool("use_sliding_window").value_or(true)) return;
  if (*window >= json.uint("max_position_embeddings")) return;
  const auto first = json.find_uint("max_window_layers");  // earlier layers have no window
  if (first && *first >= json.uint("num_hidden_layers")) return;
  unsupported(json, "sliding_window", *window);
}

}  // namespace

Config read_config(const JsonObject& json, const std::string& name, MetadataSink& writer) {
  const auto type = json.find_string("model_type");
  if (!type) fail<FormatError>("{}: 'model_type' is missing", printable_path(json.file()));
  Config config{.type = *type, .architecture = &find_hf_model(*type, json.file())};
  const HuggingFace& tables = config.architecture->hugging_face;
  check_quantization(json);
  check_activation(json, tables);
  check_windows(json);

  const std::string_view arch = config.architecture->name;
  const KeyWriter keys(json, arch, writer);
  writer.add_string("general.architecture", arch);
  if (!name.empty()) writer.add_string("general.name", name);
  for (const HfKey& key : usual_hf_keys()) keys.add(key);
  for (const HfKey& key : tables.keys) keys.add(key);
  config.n_vocab = json.uint("vocab_size");
  config.n_heads = json.uint("num_attention_heads");
  config.n_kv_heads = json.find_uint("num_key_value_heads").value_or(config.n_heads);
  if (config.n_heads == 0 || config.n_kv_heads == 0)
    json.mismatch("num_attention_heads", "at least 1, as many for keys and values");
  const std::uint64_t head_width =
      json.find_uint("head_dim").value_or(json.uint("hidden_size") / config.n_heads);
  writer.add_u32(keys.name("rope.dimension_count"), fits_u32(json, "head_dim", head_width));
  config.rope_factors = read_rope(json, arch, head_width, writer);
  config.tied = json.find_bool("tie_word_embeddings").value_or(false);
  return config;
}

}  // namespace weft::safetensors

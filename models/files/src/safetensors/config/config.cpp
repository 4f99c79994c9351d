#include "safetensors/config/config.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/config/config_keys.h"
#include "safetensors/config/known_keys.h"
#include "safetensors/config/rope_scaling.h"

namespace weft::safetensors {
namespace {

[[noreturn]] void unsupported(const JsonObject& json, std::string_view key, const Json& value) {
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name(key), printable(value.dump()));
}

void check_setting(const JsonObject& json, std::string_view type, const arch::HfSetting& setting) {
  if (!setting.type.empty() && setting.type != type) return;
  const Json* value = json.find(setting.hf_name);
  if (!value && setting.required) {
    fail<UnsupportedError>("{}: '{}' is missing, which is supported only if it is {}",
                           printable_path(json.file()), json.name(setting.hf_name),
                           setting.values[0]);
  }
  if (!value) return;
  const std::string text = value->dump();
  const auto is = [&](std::string_view accepted) { return accepted == text; };
  if (std::ranges::none_of(setting.values, is)) unsupported(json, setting.hf_name, *value);
}

void check_settings(const JsonObject& json, std::string_view type,
                    const arch::HuggingFace& tables) {
  const auto name = json.find_string("hidden_act");
  if (name && std::ranges::find(tables.activations, *name) == tables.activations.end())
    unsupported(json, "hidden_act", *name);
  for (const arch::HfSetting& setting : tables.settings) check_setting(json, type, setting);
  for (const arch::HfSetting& setting : arch::usual_hf_settings()) {
    if (std::ranges::find(tables.settings, setting.hf_name, &arch::HfSetting::hf_name) ==
        tables.settings.end())
      check_setting(json, type, setting);
  }
}

void check_quantization(const JsonObject& json) {
  const auto about = json.find_object("quantization_config");
  if (!about) return;
  fail<UnsupportedError>(
      "{}: the weights are quantized ('quantization_config', method '{}'); use the checkpoint that "
      "was quantized",
      printable_path(json.file()), printable(about->find_string("quant_method").value_or("?")));
}

// Whether an entry of layer_types is this kind.
bool is_kind(const Json& entry, std::string_view kind) {
  return entry.is_string() && entry.get_ref<const std::string&>() == kind;
}

// The length of sliding windows; nullopt if config.json says that there are none.
std::optional<std::uint64_t> find_window(const JsonObject& json, std::string_view type,
                                         const arch::HuggingFace& tables) {
  const arch::HfAbsent absent = tables.absent_keys(type);
  const bool usually = tables.windows != arch::HfWindows::refused_if_used;
  const bool used = json.find_bool("use_sliding_window").value_or(usually);
  if (!used && absent.window_has_flag) return std::nullopt;
  if (json.json().contains("sliding_window") || absent.window == 0)
    return json.find_uint("sliding_window");
  return absent.window;
}

// Refuses layers with sliding windows. Newer files list the kinds of all layers; then only the list
// counts.
void refuse_windows(const JsonObject& json, std::string_view type,
                    const arch::HuggingFace& tables) {
  if (const Json* kinds = json.find("layer_types")) {
    if (!kinds->is_array()) json.mismatch("layer_types", "an array");
    for (const Json& kind : *kinds) {
      if (!is_kind(kind, "full_attention")) unsupported(json, "layer_types", kind);
    }
    return;
  }
  const auto window = find_window(json, type, tables);
  if (!window || *window >= json.uint("max_position_embeddings")) return;
  const auto first = json.find_uint("max_window_layers");  // earlier layers have no window
  if (first && *first >= json.uint("num_hidden_layers") && tables.absent_keys(type).window_has_flag)
    return;
  unsupported(json, "sliding_window", *window);
}

// Which layers have windows, if the file lists their kinds.
void add_layer_types(ConfigKeys& keys) {
  const JsonObject& json = keys.json();
  const Json* kinds = json.find("layer_types");
  if (!kinds) return;
  if (!kinds->is_array() || kinds->size() != json.uint("num_hidden_layers"))
    json.mismatch("layer_types", "one kind for each of the 'num_hidden_layers' layers");
  std::vector<bool> windows;
  for (const Json& kind : *kinds) {
    windows.push_back(is_kind(kind, "sliding_attention"));
    if (!windows.back() && !is_kind(kind, "full_attention")) unsupported(json, "layer_types", kind);
  }
  keys.add_flags("attention.sliding_window_pattern", windows);
}

std::string model_type(const JsonObject& json) {
  const auto type = json.find_string("model_type");
  if (!type) fail<FormatError>("{}: 'model_type' is missing", printable_path(json.file()));
  return *type;
}

std::uint64_t added(const ConfigKeys& keys, std::string_view key, std::uint64_t otherwise) {
  const auto value = keys.find(key);
  return value ? static_cast<std::uint64_t>(*value) : otherwise;
}

// Numbers that shape tensors.
void read_shapes(const ConfigKeys& keys, Config& config) {
  config.n_vocab = added(keys, "vocab_size", 0);
  config.n_layers = added(keys, "block_count", 0);
  config.n_experts = added(keys, "expert_count", 0);
  config.n_heads = added(keys, "attention.head_count", 0);
  config.n_kv_heads = added(keys, "attention.head_count_kv", config.n_heads);
  config.latent_E =
      added(keys, "attention.key_length_mla", 0) -
      std::min(added(keys, "rope.dimension_count", 0), added(keys, "attention.key_length_mla", 0));
  config.latent_Ev = added(keys, "attention.value_length_mla", 0);
  if (config.n_heads == 0) keys.json().mismatch("num_attention_heads", "at least 1");
}

// RoBERTa's positions begin behind that of its padding token.
void read_positions(ConfigKeys& keys, Config& config) {
  const auto& types = config.architecture->hugging_face.offset_types;
  if (std::ranges::find(types, config.type) == types.end()) return;
  const JsonObject& json = keys.json();
  if (json.find_uint("pad_token_id").value_or(1) != 1)
    unsupported(json, "pad_token_id", *json.find("pad_token_id"));
  config.position_offset = 2;
  const std::uint64_t all = json.uint("max_position_embeddings");
  if (all <= config.position_offset) json.mismatch("max_position_embeddings", "at least 3");
  keys.add_count("context_length", all - config.position_offset, "max_position_embeddings");
}

// The class among `architectures` that says that a token sees all others; null if there is none.
const Json* bidirectional_class(const JsonObject& json) {
  const Json* names = json.find("architectures");
  if (!names || !names->is_array()) return nullptr;
  for (const Json& name : *names) {
    if (name.is_string() && name.get_ref<const std::string&>().find("Bidirec") != std::string::npos)
      return &name;
  }
  return nullptr;
}

// The class has the last word, as is_causal is not in files of such models.
void read_direction(const Json* bidirectional, ConfigKeys& keys, const arch::HuggingFace& tables) {
  if (!bidirectional || keys.json().find_bool("is_causal") == false) return;
  const auto setting = std::ranges::find(tables.settings, "is_causal", &arch::HfSetting::hf_name);
  const bool may_be_causal = setting == tables.settings.end() ||
                             std::ranges::find(setting->values, "true") != setting->values.end();
  if (!may_be_causal) return;
  if (setting != tables.settings.end() || keys.json().find_bool("is_causal"))
    unsupported(keys.json(), "architectures", *bidirectional);
  keys.add_flag("attention.causal", false);
}

// The part that the class of the model has after its layers: a classifier, whose outputs may have
// names, or nothing.
void read_class(const JsonObject& json, Config& config) {
  constexpr std::size_t kMaxLabels = 10000;
  const Json* names = json.find("architectures");
  if (!names || !names->is_array() || names->empty() || !(*names)[0].is_string()) return;
  const auto& name = (*names)[0].get_ref<const std::string&>();
  config.without_head = name.ends_with("Model") && !name.ends_with("LMHeadModel");
  config.classifies = name.ends_with("ForSequenceClassification");
  const auto labels = json.find_object("id2label");
  if (!config.classifies || !labels) return;
  const std::size_t n = labels->json().size();
  if (n > kMaxLabels) json.mismatch("id2label", fmt::format("at most {} labels", kMaxLabels));
  for (std::size_t i = 0; i < n; ++i) {
    const auto label = labels->find_string(std::to_string(i));
    if (!label) json.mismatch("id2label", fmt::format("labels of the numbers below {}", n));
    config.labels.push_back(*label);
  }
}

// Settings of the whole model that would change the part that reads text.
void check_direction(const JsonObject& json) {
  if (json.find_bool("use_bidirectional_attention").value_or(false))
    unsupported(json, "use_bidirectional_attention", *json.find("use_bidirectional_attention"));
  if (!json.find_bool("is_causal").value_or(true))
    unsupported(json, "is_causal", *json.find("is_causal"));
}

std::optional<bool> find_tied(const JsonObject& json, const arch::HuggingFace& tables) {
  if (!tables.tied_key.empty() && json.find(tables.tied_key))
    return json.find_bool(tables.tied_key);
  return json.find_bool("tie_word_embeddings");
}

// `bidirectional`: see bidirectional_class().
void read_part(const JsonObject& json, const Json* bidirectional, const std::string& name,
               MetadataSink& sink, const OpenOptions& options, Config& config) {
  const arch::HuggingFace& tables = config.architecture->hugging_face;
  check_quantization(json);
  check_settings(json, config.type, tables);
  if (!options.allow_unknown_settings) check_known_keys(json, tables);
  if (tables.windows == arch::HfWindows::refused ||
      tables.windows == arch::HfWindows::refused_if_used)
    refuse_windows(json, config.type, tables);

  const std::string_view arch = config.architecture->name;
  ConfigKeys keys(json, config.type, arch, sink);
  sink.add_string("general.architecture", arch);
  if (!name.empty()) sink.add_string("general.name", name);
  if (tables.windows == arch::HfWindows::by_layer) add_layer_types(keys);
  read_positions(keys, config);
  read_direction(bidirectional, keys, tables);
  if (tables.rope) add_stated_bases(keys);
  keys.add(tables.keys);
  keys.add(arch::usual_hf_keys());
  read_shapes(keys, config);
  if (tables.rope) {
    const std::uint64_t width = added(keys, "embedding_length", 0) / config.n_heads;
    config.rope_factors =
        read_rope(tables, added(keys, "attention.key_length", width), options, keys);
  }
  config.tied = find_tied(json, tables).value_or(config.tied);
  config.next_tokens = json.find_uint("num_nextn_predict_layers").value_or(0) > 0;
}

}  // namespace

Config read_config(const JsonObject& json, const std::string& name, MetadataSink& sink,
                   const OpenOptions& options) {
  const auto text = json.find_object("text_config");
  const bool own_type = text && text->find("model_type");
  const std::string type = model_type(own_type ? *text : json);
  Config config;
  config.type = type;
  config.architecture = &find_hf_model(type, text ? *text : json);
  config.other_parts = text || json.find("vision_config") || json.find("audio_config");
  const arch::HuggingFace& tables = config.architecture->hugging_face;
  config.tied = tables.absent_keys(type).tied;
  if (text) config.tied = find_tied(json, tables).value_or(config.tied);
  if (text) check_quantization(json);
  if (text) check_direction(json);
  const Json* bidirectional = bidirectional_class(json);
  if (!bidirectional && text) bidirectional = bidirectional_class(*text);
  read_part(text ? *text : json, bidirectional, name, sink, options, config);
  read_class(json, config);
  return config;
}

}  // namespace weft::safetensors

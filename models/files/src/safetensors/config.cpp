#include "safetensors/config.h"

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

// Keys "ARCH.*" of numbers.
class Keys {
 public:
  Keys(const JsonObject& json, std::string_view arch, MetadataSink& writer)
      : json_(json), arch_(arch), writer_(writer) {}

  std::uint64_t required(std::string_view ours, std::string_view theirs) const {
    const std::uint64_t value = json_.uint(theirs);
    writer_.add_u32(key(ours), fits_u32(json_, theirs, value));
    return value;
  }
  std::uint64_t optional(std::string_view ours, std::string_view theirs,
                         std::uint64_t fallback) const {
    const std::uint64_t value = json_.find_uint(theirs).value_or(fallback);
    writer_.add_u32(key(ours), fits_u32(json_, theirs, value));
    return value;
  }
  std::string key(std::string_view name) const { return fmt::format("{}.{}", arch_, name); }

 private:
  const JsonObject& json_;
  std::string_view arch_;
  MetadataSink& writer_;
};

[[noreturn]] void unsupported(const JsonObject& json, std::string_view key, const Json& value) {
  fail<UnsupportedError>("{}: '{}' is {}, which is not supported", printable_path(json.file()),
                         json.name(key), printable(value.dump()));
}

void check_activation(const JsonObject& json) {
  const auto name = json.find_string("hidden_act");
  if (name && *name != "silu" && *name != "swish") unsupported(json, "hidden_act", *name);
}

void check_quantization(const JsonObject& json) {
  const auto about = json.find_object("quantization_config");
  if (!about) return;
  fail<UnsupportedError>(
      "{}: the weights are quantized ('quantization_config', method '{}'); take the checkpoint "
      "that "
      "they were made from",
      printable_path(json.file()), printable(about->find_string("quant_method").value_or("?")));
}

// Layers that see only the last tokens. Lists of the kinds of all layers are newer than the
// numbers, and say it alone where they are given.
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
  const auto first = json.find_uint("max_window_layers");  // earlier layers see everything
  if (first && *first >= json.uint("num_hidden_layers")) return;
  unsupported(json, "sliding_window", *window);
}

}  // namespace

Config read_config(const JsonObject& json, const std::string& name, MetadataSink& writer) {
  const auto type = json.find_string("model_type");
  if (!type) fail<FormatError>("{}: 'model_type' is missing", printable_path(json.file()));
  Config config{.model = &find_hf_model(*type, json.file())};
  check_quantization(json);
  check_activation(json);
  check_windows(json);

  const std::string_view arch = config.model->architecture;
  const Keys keys(json, arch, writer);
  writer.add_string("general.architecture", arch);
  if (!name.empty()) writer.add_string("general.name", name);
  config.n_vocab = keys.required("vocab_size", "vocab_size");
  keys.required("context_length", "max_position_embeddings");
  const std::uint64_t width = keys.required("embedding_length", "hidden_size");
  keys.required("block_count", "num_hidden_layers");
  keys.required("feed_forward_length", "intermediate_size");
  config.n_heads = keys.required("attention.head_count", "num_attention_heads");
  config.n_kv_heads =
      keys.optional("attention.head_count_kv", "num_key_value_heads", config.n_heads);
  if (config.n_heads == 0 || config.n_kv_heads == 0)
    json.mismatch("num_attention_heads", "at least 1, as many for keys and values");
  const std::uint64_t head_width = json.find_uint("head_dim").value_or(width / config.n_heads);
  if (json.find("head_dim")) {
    keys.required("attention.key_length", "head_dim");
    keys.required("attention.value_length", "head_dim");
  }
  writer.add_f32(keys.key("attention.layer_norm_rms_epsilon"),
                 static_cast<float>(json.find_number("rms_norm_eps").value_or(1e-6)));
  writer.add_u32(keys.key("rope.dimension_count"), fits_u32(json, "head_dim", head_width));
  config.rope_factors = read_rope(json, arch, head_width, writer);
  config.tied = json.find_bool("tie_word_embeddings").value_or(false);
  return config;
}

}  // namespace weft::safetensors

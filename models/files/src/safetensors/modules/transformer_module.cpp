#include "safetensors/modules/transformer_module.h"

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

// In the order in which sentence-transformers look for them.
constexpr const char* kConfigNames[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

void check_output(const JsonObject& json, std::string_view key, std::string_view expected) {
  const auto name = json.find_string(key);
  if (!name || *name == expected) return;
  fail<UnsupportedError>("{}: '{}' '{}' is not supported (supported: '{}')",
                         printable_path(json.file()), json.name(key), printable(*name), expected);
}

void check_outputs(const JsonObject& json) {
  check_output(json, "module_output_name", "token_embeddings");
  const auto modalities = json.find_object("modality_config");
  const auto text = modalities ? modalities->find_object("text") : std::nullopt;
  if (!text) return;
  check_output(*text, "method", "forward");
  check_output(*text, "method_output_name", "last_hidden_state");
}

}  // namespace

TransformerModule read_transformer_module(const std::string& folder) {
  for (const char* name : kConfigNames) {
    const OptionalFile config(folder, name);
    if (!config.found()) continue;
    const JsonObject json = config.object();
    TransformerModule module{.file = config.path()};
    check_outputs(json);
    module.lowercase = json.find_bool("do_lower_case").value_or(false);
    if (const auto n = json.find_uint("max_seq_length")) {
      if (*n == 0 || *n > INT32_MAX) json.mismatch("max_seq_length", "a number of tokens");
      module.max_tokens = static_cast<std::uint32_t>(*n);
    }
    return module;
  }
  return {};
}

void apply_lowercase(const TransformerModule& module, Json& tokenizer, Json& settings) {
  if (!module.lowercase) return;
  Json* normalizer = tokenizer.is_object() && tokenizer.contains("normalizer")
                         ? &tokenizer["normalizer"]
                         : nullptr;
  if (!normalizer || !normalizer->is_object() ||
      normalizer->value("type", Json()) != "BertNormalizer") {
    fail<UnsupportedError>("{}: 'do_lower_case' needs a tokenizer with a BertNormalizer",
                           printable_path(module.file));
  }
  const Json own = settings.value("do_lower_case", Json());
  const Json lowers = own.is_boolean() ? own : normalizer->value("lowercase", Json(true));
  if (lowers != false) return;
  (*normalizer)["lowercase"] = true;
  settings.erase("do_lower_case");
  Json& strips = (*normalizer)["strip_accents"];  // by default as the tokenizer lowercased
  if (strips.is_null()) strips = false;
}

}  // namespace weft::safetensors

#include "model_facts.h"

#include <array>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "weft/api/json_text.h"
#include "weft/base/hash.h"
#include "weft/quantize/quantize.h"
#include "weft/run/session.h"

#include "writer.h"

namespace weft::api::ollama {
namespace {

// An opened file, or the one of the loaded model.
Checkpoint file_of(const ListedModel& model) {
  return model.loaded ? model.loaded->model->file()
                      : Checkpoint::open(model.path, {.allow_unknown_settings = true});
}

std::int64_t n_params(const Checkpoint& file) {
  std::int64_t n = 0;
  for (const CheckpointTensor& tensor : file.tensors()) n += tensor.spec.shape.elems();
  return n;
}

std::string quantization(const Checkpoint& file) {
  const auto number = file.find_uint("general.file_type");
  for (const std::string_view mix : quantize_mixes())
    if (number && file_type_of(mix) == *number) return std::string(mix);
  return "unknown";
}

template <class... Readers>
struct Overloaded : Readers... {
  using Readers::operator()...;
};
template <class... Readers>
Overloaded(Readers...) -> Overloaded<Readers...>;

std::string value_json(const MetaValue& value, bool verbose);

std::string array_json(const MetaArray& array, bool verbose) {
  if (!verbose) return "null";
  JsonArray json;
  const auto add_all = [&](const auto& values) {
    for (const auto& value : values) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, MetaValue>)
        json.add_json(value_json(value, verbose));
      else
        json.add(value);
    }
  };
  std::visit(Overloaded{[&](const std::vector<bool>& values) {
                          for (const bool value : values) json.add(value);
                        },
                        add_all},
             array.values);
  return json.str();
}

std::string value_json(const MetaValue& value, bool verbose) {
  std::string text;
  std::visit(Overloaded{[&](const std::shared_ptr<const MetaArray>& array) {
                          text = array_json(*array, verbose);
                        },
                        [&](const auto& scalar) { json_out::append_any(text, scalar); }},
             value.value);
  return text;
}

// Names of keys come from the file: any bytes.
std::string metadata_json(const Checkpoint& file, bool verbose) {
  std::string json = "{";
  json += fmt::format(R"("general.parameter_count":{})", n_params(file));
  for (const MetaEntry& entry : file.metadata()) {
    if (entry.key == "general.parameter_count" || entry.key == "tokenizer.chat_template") continue;
    json += ',';
    json_out::append(json, entry.key);
    json += ':';
    json += value_json(entry.value, verbose);
  }
  return json + '}';
}

std::string capabilities(const Checkpoint& file, const std::string& chat) {
  const ReplySyntax syntax = reply_syntax(chat);
  JsonArray json;
  json.add("completion").add("embedding");
  if (file.find("tokenizer.ggml.fim_pre_token_id") || file.find("tokenizer.ggml.prefix_token_id"))
    json.add("insert");
  if (!chat.empty()) json.add("tools");  // the prompt has them, even if the template shows none
  if (!syntax.reasoning.empty()) json.add("thinking");
  return json.str();
}

// The details of a model that is not loaded, whose file is opened once.
std::string read_details(const ListedModel& model) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;  // by digest; one entry per version of a file
  const std::string key = digest(model);
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find(key); at != known.end()) return at->second;
  }
  std::string details =
      details_json(Checkpoint::open(model.path, {.allow_unknown_settings = true}));
  const std::lock_guard lock(mutex);
  return known[key] = std::move(details);
}

JsonObject named(const ListedModel& model) {
  return JsonObject()
      .add("name", model.name)
      .add("model", model.name)
      .add("modified_at", timestamp(model.created * 1'000'000))
      .add("size", model.file_bytes)
      .add("digest", digest(model));
}

}  // namespace

std::string parameter_size(std::int64_t n) {
  for (const auto& [unit, name] : {std::pair(1e9, "B"), std::pair(1e6, "M"), std::pair(1e3, "K")}) {
    const double in_unit = static_cast<double>(n) / unit;
    if (in_unit >= 9.95) return fmt::format("{:.0f}{}", in_unit, name);
    if (in_unit >= 0.9995) return fmt::format("{:.1f}{}", in_unit, name);
  }
  return std::to_string(n);
}

std::string details_json(const Checkpoint& file) {
  const std::string family(file.find_string("general.architecture").value_or(""));
  return JsonObject()
      .add("parent_model", "")
      .add("format", file.is_directory() ? "safetensors" : "gguf")
      .add("family", family)
      .add_json("families", JsonArray().add(family).str())
      .add("parameter_size", parameter_size(n_params(file)))
      .add("quantization_level", quantization(file))
      .str();
}

std::string digest(const ListedModel& model) {
  const std::string facts = fmt::format("{} {} {}", model.path, model.file_bytes, model.created);
  std::string digest;
  for (const char part : std::string_view("abcd")) {
    Fnv1a64 hash;
    hash.add({&part, 1});
    hash.add(facts);
    digest += fmt::format("{:016x}", hash.value());
  }
  return digest;
}

std::string tag_json(const ListedModel& model) {
  JsonObject json = named(model);
  try {
    json.add_json("details",
                  model.loaded ? details_json(model.loaded->model->file()) : read_details(model));
  } catch (const Error&) {
    // The list remains useful; using the model reports the error in its file.
    json.add_json("details", R"({"format":"","family":"","parameter_size":"",)"
                             R"("quantization_level":""})");
  }
  return json.str();
}

std::string running_json(const ListedModel& model) {
  const ServedModel& loaded = *model.loaded;
  return named(model)
      .add_json("details", details_json(loaded.model->file()))
      .add("expires_at", "9999-12-31T23:59:59Z")  // nothing is unloaded by time
      .add("size_vram", 0)
      .add("context_length", loaded.texts->context())
      .str();
}

std::string show_json(const ListedModel& model, bool verbose) {
  const Checkpoint file = file_of(model);
  std::string chat(file.find_string("tokenizer.chat_template").value_or(""));
  if (model.loaded && model.loaded->chat.chat_template)
    chat = model.loaded->chat.chat_template->source();
  return JsonObject()
      .add("modelfile", "")
      .add("parameters", "")
      .add("template", chat)
      .add_json("details", details_json(file))
      .add_json("model_info", metadata_json(file, verbose))
      .add_json("capabilities", capabilities(file, chat))
      .add("modified_at", timestamp(model.created * 1'000'000))
      .str();
}

}  // namespace weft::api::ollama

#include "safetensors/special_tokens.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"

namespace weft::safetensors {
namespace {

constexpr std::size_t kMaxTokenizerConfig = std::size_t{16} << 20;

// A file that may be missing.
class OptionalFile {
 public:
  OptionalFile(const std::string& directory, const char* name)
      : path_((std::filesystem::path(directory) / name).string()) {
    const auto text = read_text(path_, kMaxTokenizerConfig);
    json_ = text ? parse_json(*text, path_) : Json::object();
  }
  JsonObject object() const { return JsonObject(json_, path_); }

 private:
  std::string path_;
  Json json_;
};

std::uint32_t to_id(const JsonObject& json, std::string_view key, const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT32_MAX)
    json.mismatch(key, "a token id");
  return value.get<std::uint32_t>();
}

// One id or a list of them.
std::vector<std::uint32_t> find_ids(const JsonObject& json, std::string_view key) {
  const Json* value = json.find(key);
  std::vector<std::uint32_t> ids;
  if (!value) return ids;
  if (!value->is_array()) return {to_id(json, key, *value)};
  for (const Json& one : *value) ids.push_back(to_id(json, key, one));
  return ids;
}

// The id of a token given by its text, which may be in an object with facts about it; nullopt if no
// token has the text.
std::optional<std::uint32_t> find_named(const JsonObject& json, std::string_view key,
                                        const TokenizerFacts& tokenizer) {
  const Json* value = json.find(key);
  if (!value) return std::nullopt;
  const auto text = value->is_object()
                        ? JsonObject(*value, json.file(), std::string(key)).find_string("content")
                        : json.find_string(key);
  return text ? tokenizer.find(*text) : std::nullopt;
}

std::string read_template(const std::string& directory, const JsonObject& tokenizer_config) {
  const auto path = (std::filesystem::path(directory) / "chat_template.jinja").string();
  if (const auto text = read_text(path, kMaxTokenizerConfig)) return *text;
  const Json* value = tokenizer_config.find("chat_template");
  if (!value) return {};
  if (!value->is_array()) return *tokenizer_config.find_string("chat_template");
  for (const Json& one : *value) {  // several, by name
    const JsonObject named(one, tokenizer_config.file(), "chat_template");
    if (named.find_string("name") == "default")
      return named.find_string("template").value_or(std::string());
  }
  return {};
}

}  // namespace

void read_special_tokens(const std::string& directory, const JsonObject& config,
                         const TokenizerFacts& tokenizer, MetadataSink& writer) {
  const OptionalFile tokenizer_file(directory, "tokenizer_config.json");
  const OptionalFile generation_file(directory, "generation_config.json");
  const JsonObject named = tokenizer_file.object(), generation = generation_file.object();

  const auto add_id = [&](std::string_view token, std::string_view name, std::string_view id) {
    auto found = find_named(named, token, tokenizer);
    for (const JsonObject* json : {&generation, &config}) {
      if (found) break;
      const auto ids = find_ids(*json, id);
      if (!ids.empty()) found = ids.front();
    }
    if (found) writer.add_u32(fmt::format("tokenizer.ggml.{}_token_id", name), *found);
    return found;
  };
  add_id("bos_token", "bos", "bos_token_id");
  add_id("pad_token", "padding", "pad_token_id");
  add_id("cls_token", "cls", "cls_token_id");
  add_id("sep_token", "seperator", "sep_token_id");  // GGUF files spell the key like this
  add_id("mask_token", "mask", "mask_token_id");
  const auto eos = add_id("eos_token", "eos", "eos_token_id");
  std::vector<std::uint32_t> more = find_ids(generation, "eos_token_id");
  std::ranges::copy(find_ids(config, "eos_token_id"), std::back_inserter(more));
  std::ranges::sort(more);
  more.erase(std::unique(more.begin(), more.end()), more.end());
  std::erase(more, eos.value_or(UINT32_MAX));
  if (!more.empty()) writer.add_u32("tokenizer.ggml.eot_token_id", more[0]);
  if (more.size() > 1) writer.add_u32("tokenizer.ggml.eom_token_id", more[1]);

  writer.add_bool("tokenizer.ggml.add_bos_token",
                  named.find_bool("add_bos_token").value_or(tokenizer.begins));
  writer.add_bool("tokenizer.ggml.add_eos_token",
                  named.find_bool("add_eos_token").value_or(tokenizer.ends));
  if (tokenizer.separates) writer.add_bool("tokenizer.ggml.add_sep_token", tokenizer.ends);
  const std::string text = read_template(directory, named);
  if (!text.empty()) writer.add_string("tokenizer.chat_template", text);
}

}  // namespace weft::safetensors

#include "safetensors/tokenizer/chat_templates.h"

#include <filesystem>
#include <map>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/vocabulary_file.h"

#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

constexpr std::size_t kMaxTemplate = std::size_t{16} << 20;
constexpr const char* kDefault = "default";
constexpr const char* kToolUse = "tool_use";

using Templates = std::map<std::string, std::string>;  // by name

std::string join(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

Templates from_list(const JsonObject& json, const Json& list) {
  Templates all;
  for (const Json& one : list) {
    const JsonObject entry(one, json.file(), json.name("chat_template"));
    const auto name = entry.find_string("name"), text = entry.find_string("template");
    if (!name) entry.mismatch("name", "a text");
    if (!text) entry.mismatch("template", "a text");
    all.emplace(*name, *text);
  }
  return all;
}

Templates from_object(const JsonObject& by_name) {
  Templates all;
  for (const auto& [name, text] : by_name.json().items()) {
    if (!text.is_string()) by_name.mismatch(name, "a text");
    all.emplace(name, text.get<std::string>());
  }
  return all;
}

// The value of `chat_template`.
Templates read_value(const JsonObject& json) {
  const Json* value = json.find("chat_template");
  if (!value) return {};
  if (value->is_array()) return from_list(json, *value);
  if (value->is_object()) return from_object(*json.find_object("chat_template"));
  return {{kDefault, *json.find_string("chat_template")}};
}

Templates read_all(const std::string& directory, const JsonObject& tokenizer_config) {
  if (const auto text = read_text(join(directory, "chat_template.jinja"), kMaxTemplate))
    return {{kDefault, *text}};
  const OptionalFile file(directory, "chat_template.json");
  Templates all = read_value(file.object());
  return all.empty() ? read_value(tokenizer_config) : all;
}

}  // namespace

void read_chat_templates(const std::string& directory, const JsonObject& tokenizer_config,
                         MetadataSink& writer) {
  Templates all = read_all(directory, tokenizer_config);
  const std::string path = join(directory, "additional_chat_templates/tool_use.jinja");
  if (const auto text = read_text(path, kMaxTemplate)) all.insert_or_assign(kToolUse, *text);
  const auto found = all.size() == 1 ? all.begin() : all.find(kDefault);
  if (found != all.end() && !found->second.empty())
    writer.add_string("tokenizer.chat_template", found->second);
  const auto tools = all.find(kToolUse);
  if (tools != all.end() && tools != found && !tools->second.empty())
    writer.add_string(kToolTemplateKey, tools->second);
}

}  // namespace weft::safetensors

#include "weft/serve/transcript.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 190;  // templates and parsers of tools also accept that depth
// Values take up to twenty times as much memory as text.
constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

Json as_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json as_json(const ChatMessage& message) {
  Json json{{"role", message.role}, {"content", message.content}};
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.tool_calls) json["tool_calls"].push_back(as_json(call));
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) json["name"] = message.name;
  return json;
}

Json as_json(std::span<const ChatMessage> messages) {
  Json list = Json::array();
  for (const ChatMessage& message : messages) list.push_back(as_json(message));
  return list;
}

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// `where`: the part of the file, with a colon; empty for all of it.
Json parse(std::string_view text, const std::string& name, const std::string& where = "") {
  if (text.size() > kMaxBytes)
    fail<FormatError>("{}: {}{} bytes are too many for a conversation, at most {} are supported",
                      printable_path(name), where, text.size(), kMaxBytes);
  const auto deep = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth)
      fail<FormatError>("{}: {}values are nested more than {} deep", printable_path(name), where,
                        kMaxDepth);
    return true;
  };
  try {
    return Json::parse(text, deep);
  } catch (const Json::exception& e) {
    fail<FormatError>("{}: {}not JSON: {}", printable_path(name), where,
                      printable(without_json_id(e.what()), 300));
  }
}

// Reads members and reports errors. `where`: "messages[3]."
struct Reader {
  const std::string& name;

  [[noreturn]] void wrong(const std::string& where, std::string_view expected,
                          const Json& got) const {
    fail<FormatError>("{}: {} must be {}, got {}", printable_path(name), where, expected,
                      got.type_name());
  }
  std::string text(const Json& object, const std::string& where, const char* key) const {
    const auto at = object.find(key);
    if (at == object.end() || at->is_null()) return "";
    if (!at->is_string()) wrong(where + key, "a string", *at);
    return at->get<std::string>();
  }
  const Json& object(const Json& json, const std::string& where) const {
    if (!json.is_object()) wrong(where, "an object", json);
    return json;
  }

  ToolCall call(const Json& json, const std::string& where) const {
    object(json, where);
    const auto function = json.find("function");
    const Json& f = function == json.end() ? json : object(*function, where + ".function");
    ToolCall call{text(json, where + ".", "id"), text(f, where + ".", "name"), ""};
    if (call.name.empty()) fail<FormatError>("{}: {} has no name", printable_path(name), where);
    const auto arguments = f.find("arguments");
    if (arguments == f.end()) return call;
    call.arguments = arguments->is_string() ? arguments->get<std::string>() : arguments->dump();
    if (!call.arguments.empty()) parse(call.arguments, name, where + ".function.arguments: ");
    return call;
  }
  ChatMessage message(const Json& json, const std::string& where) const {
    object(json, where);
    const std::string at = where + ".";
    ChatMessage m{.role = text(json, at, "role"),
                  .content = text(json, at, "content"),
                  .reasoning = text(json, at, "reasoning_content"),
                  .tool_call_id = text(json, at, "tool_call_id"),
                  .name = text(json, at, "name")};
    if (m.role.empty()) fail<FormatError>("{}: {} has no role", printable_path(name), where);
    const auto calls = json.find("tool_calls");
    if (calls == json.end() || calls->is_null()) return m;
    if (!calls->is_array()) wrong(at + "tool_calls", "an array", *calls);
    for (std::size_t i = 0; i < calls->size(); ++i)
      m.tool_calls.push_back(call((*calls)[i], fmt::format("{}tool_calls[{}]", at, i)));
    return m;
  }
};

}  // namespace

std::string to_json(const Transcript& transcript) {
  Json json{{"messages", as_json(std::span(transcript.messages))}};
  if (!transcript.tools.empty()) json["tools"] = Json::parse(transcript.tools);
  if (!transcript.kwargs.empty()) json["template_kwargs"] = Json::parse(transcript.kwargs);
  if (!transcript.cached_text.empty()) json["cached_text"] = transcript.cached_text;
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

std::string to_json(std::span<const ChatMessage> messages) {
  return one_line(as_json(messages));
}

std::string to_json(const ChatMessage& message) {
  return one_line(as_json(message));
}

Transcript parse_transcript(std::string_view text, const std::string& name) {
  const Json json = parse(text, name);
  const Reader reader{name};
  const bool bare = json.is_array();
  if (!bare) reader.object(json, "a conversation");
  const auto found = bare ? json.end() : json.find("messages");
  if (!bare && found == json.end())
    fail<FormatError>("{}: not a conversation: it has no messages", printable_path(name));
  const Json& messages = bare ? json : *found;
  if (!messages.is_array()) reader.wrong("messages", "an array", messages);
  Transcript transcript;
  for (std::size_t i = 0; i < messages.size(); ++i)
    transcript.messages.push_back(reader.message(messages[i], fmt::format("messages[{}]", i)));
  if (bare) return transcript;
  if (const auto tools = json.find("tools"); tools != json.end()) {
    if (!tools->is_array()) reader.wrong("tools", "an array", *tools);
    transcript.tools = tools->dump();
  }
  if (const auto kwargs = json.find("template_kwargs"); kwargs != json.end())
    transcript.kwargs = reader.object(*kwargs, "template_kwargs").dump();
  transcript.cached_text = reader.text(json, "", "cached_text");
  return transcript;
}

void check_kwargs(std::string_view text, const std::string& name) {
  Reader{name}.object(parse(text, name), "the value");
}

std::string to_text(const Transcript& transcript) {
  std::string text;
  for (const ChatMessage& message : transcript.messages) {
    text += fmt::format("## {}\n\n", message.role);
    if (!message.reasoning.empty()) text += fmt::format("> {}\n\n", message.reasoning);
    if (!message.content.empty()) text += message.content + "\n\n";
    for (const ToolCall& call : message.tool_calls)
      text += fmt::format("[call {}] {}\n\n", call.name, call.arguments);
  }
  return text;
}

}  // namespace weft

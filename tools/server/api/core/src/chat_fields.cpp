#include "weft/api/chat_fields.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/base/json_string.h"
#include "weft/base/text.h"

namespace weft::api {
namespace {

constexpr std::size_t kMaxMessages = 65536;

// Why parts of this type are refused.
std::string_view problem_of_part(std::string_view type) {
  if (type.find("image") != type.npos) return "images are not supported";
  if (type.find("audio") != type.npos) return "sound is not supported";
  if (type.find("video") != type.npos) return "videos are not supported";
  if (type.find("file") != type.npos || type == "document") return "files are not supported";
  return "unknown type of part";
}

std::string part_text(const Json& part, const Path& path, const std::vector<TextPart>& types) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) refuse(path, "an object with a type", part);
  const auto type = part.find("type");
  if (type == part.end() || type->is_null()) refuse(path.member("type"), "is required");
  if (!type->is_string()) refuse(path.member("type"), "a text", *type);
  const auto& name = type->get_ref<const std::string&>();
  const auto known = std::ranges::find(types, name, &TextPart::type);
  if (known == types.end())
    refuse(path, fmt::format("{} ({})", problem_of_part(name), json_string(name.substr(0, 60))));
  if (known->read) return known->read(part, path);
  const auto text = part.find(known->member);
  if (text == part.end() || text->is_null()) refuse(path.member(known->member), "is required");
  if (!text->is_string()) refuse(path.member(known->member), "a text", *text);
  return text->get<std::string>();
}

struct FunctionOfCall {
  std::string name, arguments;
};
struct CallOfMessage {
  std::string id, type = "function";
  FunctionOfCall function;
};

const Fields<FunctionOfCall>& function_of_call_fields() {
  // The arguments are a JSON object as text, or the object.
  const Form<std::string> arguments{
      "a text with a JSON object", R"({"type":["string","object"]})", kString | kObject,
      [](const Json& json, const Path&) {
        return json.is_object() ? to_text(json) : call_arguments(json.get<std::string>());
      }};
  static const auto table =
      Fields<FunctionOfCall>()
          .required("name", &FunctionOfCall::name, nonempty_text(),
                    "Name of the function that was called.")
          .add("arguments", &FunctionOfCall::arguments, arguments,
               "Arguments of the call: a JSON object as text, or the object.");
  return table;
}

const Fields<CallOfMessage>& call_fields() {
  static const auto table =
      Fields<CallOfMessage>()
          .add("id", &CallOfMessage::id, text(), "Id of the call, which the tool's answer names.")
          .add("type", &CallOfMessage::type, word({"function"}),
               "Type of the tool, always function.")
          .required("function", &CallOfMessage::function, object(function_of_call_fields()),
                    "Function that is called, with its arguments.");
  return table;
}

struct MessageFields {
  std::string role;
  std::optional<std::string> content, refusal, reasoning, reasoning_content;
  std::string name, tool_call_id;
  std::vector<CallOfMessage> tool_calls;
  std::optional<FunctionOfCall> function_call;
};

const Fields<MessageFields>& message_fields() {
  using M = MessageFields;
  static const auto table =
      Fields<M>()
          .required("role", &M::role,
                    word({"system", "developer", "user", "assistant", "tool", "function"}),
                    "Role of the one whose message it is.")
          .add("content", &M::content, content_form(),
               "Content of the message: a text, or a list of parts.")
          .add("reasoning_content", &M::reasoning_content, text(), "Reasoning of an assistant.")
          .add("reasoning", &M::reasoning, text(), "Another name of reasoning_content.")
          .add("refusal", &M::refusal, text(), "Refusal of an assistant.")
          .add("name", &M::name, text(), "Name of the author.")
          .add("tool_calls", &M::tool_calls, list(object(call_fields())), "Calls of an assistant.")
          .add("function_call", &M::function_call, object(function_of_call_fields()),
               "Call of an assistant, in the deprecated form.")
          .add("tool_call_id", &M::tool_call_id, text(), "Id of the call that a tool answers.");
  return table;
}

ChatMessage to_message(MessageFields m, const Path& path) {
  if (!m.content && m.role != "assistant") refuse(path.member("content"), "is required");
  if (m.role == "tool" && m.tool_call_id.empty())
    refuse(path.member("tool_call_id"), "is required");
  ChatMessage message{.role = m.role, .content = m.content.value_or(m.refusal.value_or(""))};
  if (m.role == "developer") message.role = "system";
  if (m.role == "function") message.role = "tool";
  message.reasoning = m.reasoning_content.value_or(m.reasoning.value_or(""));
  message.name = std::move(m.name);
  message.tool_call_id = std::move(m.tool_call_id);
  if (m.function_call) m.tool_calls.push_back({.id = "", .function = std::move(*m.function_call)});
  for (CallOfMessage& call : m.tool_calls)
    message.tool_calls.push_back(
        {std::move(call.id), std::move(call.function.name),
         call.function.arguments.empty() ? "{}" : std::move(call.function.arguments)});
  return message;
}

struct FunctionFields {
  std::string name, description;
  std::optional<std::string> parameters;
  bool strict = false;
};

const Fields<FunctionFields>& function_fields() {
  using F = FunctionFields;
  static const auto table =
      Fields<F>()
          .required("name", &F::name, nonempty_text(),
                    "Name of the function, of letters, digits and _ - . : /.")
          .add("description", &F::description, text(),
               "Description of the function, for the model.")
          .add("parameters", &F::parameters, json_text(kObject, "a JSON Schema of an object"),
               "JSON Schema of the arguments.")
          .add("strict", &F::strict, boolean(),
               "Hold calls to the schema even if the model is free to call or not; forced calls "
               "always keep to it.");
  return table;
}

ChatTool read_function(const Json& json, const Path& path) {
  FunctionFields f = function_fields().read(json, {}, path);
  if (!is_tool_name(f.name))
    refuse(path.member("name"), "a name of letters, digits and _ - . : /", Json(f.name));
  return {.name = std::move(f.name),
          .parameters = f.parameters.value_or(""),
          .strict = f.strict,
          .definition = to_text({{"type", "function"}, {"function", json}}),
          .place = path.text()};
}

// Throws unless the function of a tool's type is known.
void check_type(const Json& tool, const Path& path) {
  const auto type = tool.find("type");
  if (type == tool.end() || type->is_null()) return;
  if (!type->is_string()) refuse(path.member("type"), "\"function\"", *type);
  if (*type != "function") refuse(path.member("type"), "\"function\"", *type);
}

}  // namespace

Form<std::string> content_form(std::vector<TextPart> more) {
  for (const char* type : {"text", "input_text", "output_text"}) more.push_back({type});
  more.push_back({"refusal", "refusal"});
  return {"a text or a list of parts",
          R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object"}}]})",
          kString | kArray, [types = std::move(more)](const Json& json, const Path& path) {
            if (json.is_string()) return json.get<std::string>();
            std::string all;
            for (std::size_t i = 0; i < json.size(); ++i) {
              if (i > 0) all += '\n';
              all += part_text(json[i], path.item(i), types);
            }
            return all;
          }};
}

std::string call_arguments(std::string_view text) {
  if (trim(text).empty()) return "{}";
  try {
    return to_text(parse_json(text));
  } catch (const ApiError&) {
    return json_string(text);
  }
}

Form<ChatMessage> message_form() {
  return {"an object with role and content", message_fields().schema(), kObject,
          [](const Json& json, const Path& path) {
            return to_message(message_fields().read(json, {}, path), path);
          }};
}

Form<std::vector<ChatMessage>> messages_form() {
  auto messages = list(message_form(), 1, kMaxMessages);
  messages.expected = "a list of messages";
  return messages;
}

Form<ChatTool> function_form() {
  return {"an object with a name", function_fields().schema(), kObject, read_function};
}

Form<ChatTool> tool_form() {
  return {"an object with a function",
          fmt::format(R"({{"type":"object","properties":{{"type":{{"const":"function"}},)"
                      R"("function":{}}},"required":["function"]}})",
                      function_fields().schema()),
          kObject, [](const Json& json, const Path& path) {
            check_type(json, path);
            const auto function = json.find("function");
            const Path at = path.member("function");
            if (function == json.end() || function->is_null()) refuse(at, "is required");
            if (!function->is_object()) refuse(at, "an object", *function);
            ChatTool tool = read_function(*function, at);
            tool.definition = to_text(json);
            return tool;
          }};
}

}  // namespace weft::api

#include "input.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/base/json_string.h"

namespace weft::api::responses {
namespace {

enum class ItemKind { message, call, output, reasoning, hosted };
enum class Role { user, assistant, system };

// The members of all kinds of items.
struct Item {
  ItemKind kind = ItemKind::message;
  std::optional<Role> role;
  std::optional<std::string> content, call_id, name, arguments, output;
};

// A tool that the client runs, or the service.
struct ItemType {
  std::string_view type;
  ItemKind kind;
  std::string_view name = {};       // the name for calls that have none of their own
  std::string_view arguments = {};  // the member with the arguments of a call
};

constexpr ItemType kItemTypes[] = {
    {"message", ItemKind::message},
    {"reasoning", ItemKind::reasoning},
    {"function_call", ItemKind::call, "", "arguments"},
    {"function_call_output", ItemKind::output},
    {"custom_tool_call", ItemKind::call, "", "input"},
    {"custom_tool_call_output", ItemKind::output},
    {"local_shell_call", ItemKind::call, "local_shell", "action"},
    {"local_shell_call_output", ItemKind::output},
    {"shell_call", ItemKind::call, "shell", "action"},
    {"shell_call_output", ItemKind::output},
    {"apply_patch_call", ItemKind::call, "apply_patch", "operation"},
    {"apply_patch_call_output", ItemKind::output},
    {"web_search_call", ItemKind::hosted},
    {"file_search_call", ItemKind::hosted},
    {"computer_call", ItemKind::hosted},
    {"computer_call_output", ItemKind::hosted},
    {"image_generation_call", ItemKind::hosted},
    {"code_interpreter_call", ItemKind::hosted},
    {"tool_search_call", ItemKind::hosted},
    {"tool_search_output", ItemKind::hosted},
    {"mcp_list_tools", ItemKind::hosted},
    {"mcp_approval_request", ItemKind::hosted},
    {"mcp_approval_response", ItemKind::hosted},
    {"mcp_call", ItemKind::hosted},
};

// The result of a tool: a text, parts, or, for a shell, a list of the outputs of its commands.
Form<std::string> output_form() {
  Form<std::string> form = content_form();
  return {form.expected, form.schema, form.types,
          [read = form.read](const Json& json, const Path& path) {
            const bool is_data = json.is_array() && std::ranges::any_of(json, [](const Json& part) {
                                   return part.is_object() && !part.contains("type");
                                 });
            return is_data ? to_text(json) : read(json, path);
          }};
}

const Fields<Item>& item_fields() {
  static const auto table =
      Fields<Item>()
          .accepted("type", text(), "Type of the item; by default, it is a message.")
          .add("role", &Item::role,
               choice<Role>({{"user", Role::user},
                             {"assistant", Role::assistant},
                             {"system", Role::system},
                             {"developer", Role::system}}),
               "Role of the one who speaks, of a message.")
          .add("content", &Item::content, content_form({{"reasoning_text"}}),
               "Content of a message or of reasoning.")
          .add("call_id", &Item::call_id, nonempty_text(),
               "Id of a call, which its result names as well.")
          .add("name", &Item::name, nonempty_text(), "Name of the function that is called.")
          .add("arguments", &Item::arguments, text(), "Arguments of the call, as a JSON text.")
          .add("output", &Item::output, output_form(), "Output of the function that was called.");
  return table;
}

const ItemType& type_of_item(const Json& json, const Path& path) {
  const auto type = json.find("type");
  if (type == json.end() || type->is_null()) return kItemTypes[0];
  if (!type->is_string()) refuse(path.member("type"), "a text", *type);
  const std::string_view name = type->get_ref<const std::string&>();
  const auto* const found = std::ranges::find(kItemTypes, name, &ItemType::type);
  if (found == std::end(kItemTypes))
    refuse(path.member("type"),
           fmt::format("unknown type of item {}", json_string(name.substr(0, 60))));
  return *found;
}

// The arguments of a call as JSON: a text for a custom tool becomes an object, as functions have.
std::string arguments_of(const Json& json, const ItemType& type, const Path& path) {
  const Path member = path.member(type.arguments);
  const auto value = json.find(type.arguments);
  if (value == json.end() || value->is_null()) refuse(member, "is required");
  if (type.arguments == "action" || type.arguments == "operation") return to_text(*value);
  if (!value->is_string()) refuse(member, "a text", *value);
  const auto& text = value->get_ref<const std::string&>();
  if (type.arguments == "arguments") return call_arguments(text);
  return to_text({{type.arguments, text}});
}

Item read_item(const Json& json, const Path& path) {
  const ItemType& type = type_of_item(json, path);
  // They have forms of their own, and the prompt does not mention their tools.
  if (type.kind == ItemKind::hosted) return {.kind = type.kind};
  Item item = item_fields().read(json, {}, path);
  item.kind = type.kind;
  switch (item.kind) {
    case ItemKind::message:
      require(item.role, "role", path);
      require(item.content, "content", path);
      break;
    case ItemKind::call:
      require(item.call_id, "call_id", path);
      if (!type.name.empty()) item.name = type.name;
      require(item.name, "name", path);
      item.arguments = arguments_of(json, type, path);
      break;
    case ItemKind::output:
      require(item.call_id, "call_id", path);
      require(item.output, "output", path);
      break;
    default:
      break;
  }
  return item;
}

Form<Item> item_form() {
  return {"an object", item_fields().schema(), kObject, read_item};
}

// The message of the assistant that `item` continues, or a new one.
ChatMessage& assistant_message(std::vector<ChatMessage>& messages, ItemKind kind) {
  const bool continues = !messages.empty() && messages.back().role == "assistant" &&
                         (kind == ItemKind::call ||
                          (messages.back().tool_calls.empty() && messages.back().content.empty() &&
                           (kind == ItemKind::message || messages.back().reasoning.empty())));
  if (!continues) messages.push_back({.role = "assistant", .content = {}});
  return messages.back();
}

void append(std::vector<ChatMessage>& messages, Item item) {
  if (item.kind == ItemKind::hosted) return;
  if (item.kind == ItemKind::output) {
    messages.push_back({.role = "tool",
                        .content = std::move(*item.output),
                        .tool_call_id = std::move(*item.call_id)});
  } else if (item.kind == ItemKind::call) {
    assistant_message(messages, item.kind)
        .tool_calls.push_back(
            {std::move(*item.call_id), std::move(*item.name), std::move(*item.arguments)});
  } else if (item.kind == ItemKind::reasoning) {
    if (!item.content.value_or("").empty())
      assistant_message(messages, item.kind).reasoning = std::move(*item.content);
  } else if (*item.role == Role::assistant) {
    assistant_message(messages, item.kind).content = std::move(*item.content);
  } else {
    messages.push_back({.role = *item.role == Role::user ? "user" : "system",
                        .content = std::move(*item.content)});
  }
}

std::vector<ChatMessage> as_messages(std::vector<Item> items) {
  std::vector<ChatMessage> messages;
  for (Item& item : items) append(messages, std::move(item));
  return messages;
}

std::vector<ChatMessage> user_message(std::string text) {
  return {{.role = "user", .content = std::move(text)}};
}

}  // namespace

Form<std::vector<ChatMessage>> input() {
  using Messages = std::vector<ChatMessage>;
  return either(convert<Messages>(text(), user_message),
                convert<Messages>(list(item_form(), 1), as_messages));
}

std::vector<ChatMessage> with_instructions(std::string_view instructions,
                                           std::vector<ChatMessage> messages) {
  std::string system(instructions);
  for (const ChatMessage& message : messages) {
    if (message.role != "system") continue;
    if (!system.empty() && !message.content.empty()) system += "\n\n";
    system += message.content;
  }
  std::erase_if(messages, [](const ChatMessage& m) { return m.role == "system"; });
  if (!system.empty()) messages.insert(messages.begin(), {.role = "system", .content = system});
  return messages;
}

}  // namespace weft::api::responses

#include "api/responses/input.h"

#include <optional>

#include "api/chat_fields.h"
#include "api/errors.h"
#include "api/interface_forms.h"

namespace weft::api::responses {
namespace {

enum class ItemKind { message, function_call, function_call_output, reasoning };
enum class Role { user, assistant, system };

// The members of all kinds of items.
struct Item {
  ItemKind kind = ItemKind::message;
  std::optional<Role> role;
  std::optional<std::string> content, call_id, name, arguments, output;
};

const Fields<Item>& item_fields() {
  static const auto table =
      Fields<Item>()
          .add("type", &Item::kind,
               choice<ItemKind>({{"message", ItemKind::message},
                                 {"function_call", ItemKind::function_call},
                                 {"function_call_output", ItemKind::function_call_output},
                                 {"reasoning", ItemKind::reasoning}}),
               "what the item is; by default a message")
          .add("role", &Item::role,
               choice<Role>({{"user", Role::user},
                             {"assistant", Role::assistant},
                             {"system", Role::system},
                             {"developer", Role::system}}),
               "who speaks, of a message")
          .add("content", &Item::content,
               content_form({"input_text", "output_text", "text", "reasoning_text"}),
               "of a message or of reasoning")
          .add("call_id", &Item::call_id, nonempty_text(), "of a call and of its result")
          .add("name", &Item::name, nonempty_text(), "the function that is called")
          .add("arguments", &Item::arguments, text(), "of the call: a JSON text")
          .add("output", &Item::output, content_form({"input_text", "output_text", "text"}),
               "what the function returned");
  return table;
}

Item check_item(Item item, const Path& path) {
  switch (item.kind) {
    case ItemKind::message:
      require(item.role, "role", path);
      require(item.content, "content", path);
      break;
    case ItemKind::function_call:
      require(item.call_id, "call_id", path);
      require(item.name, "name", path);
      require(item.arguments, "arguments", path);
      item.arguments = call_arguments(*item.arguments);
      break;
    case ItemKind::function_call_output:
      require(item.call_id, "call_id", path);
      require(item.output, "output", path);
      break;
    case ItemKind::reasoning:
      break;
  }
  return item;
}

// The message of the assistant that `item` continues, or a new one.
ChatMessage& assistant_message(std::vector<ChatMessage>& messages, ItemKind kind) {
  const bool continues = !messages.empty() && messages.back().role == "assistant" &&
                         (kind == ItemKind::function_call ||
                          (messages.back().tool_calls.empty() && messages.back().content.empty() &&
                           (kind == ItemKind::message || messages.back().reasoning.empty())));
  if (!continues) messages.push_back({.role = "assistant", .content = {}});
  return messages.back();
}

void append(std::vector<ChatMessage>& messages, Item item) {
  if (item.kind == ItemKind::function_call_output) {
    messages.push_back({.role = "tool",
                        .content = std::move(*item.output),
                        .tool_call_id = std::move(*item.call_id)});
  } else if (item.kind == ItemKind::function_call) {
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
  return either(
      convert<Messages>(text(), user_message),
      convert<Messages>(list(checked<Item>(object(item_fields()), check_item), 1), as_messages));
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

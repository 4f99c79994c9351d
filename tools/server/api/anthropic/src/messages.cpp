#include "messages.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "weft/api/chat_fields.h"
#include "weft/api/errors.h"
#include "weft/api/interface_forms.h"

#include "documents.h"

namespace weft::api::anthropic {
namespace {

enum class BlockKind { text, thinking, redacted_thinking, tool_use, tool_result, hosted };

// The members of all kinds of blocks.
struct Block {
  BlockKind kind = BlockKind::text;
  std::optional<std::string> text, thinking, id, name, tool_use_id;
  std::string input = "{}";
  std::string result;
  bool is_error = false;
};

// Parts of the content of a result.
std::vector<TextPart> result_parts() {
  std::vector<TextPart> parts = {{"tool_reference", "tool_name"}};
  for (const std::string_view type : kDocuments)
    parts.push_back({.type = std::string(type), .read = document_text});
  return parts;
}

const Fields<Block>& block_fields() {
  static const auto table =
      Fields<Block>()
          .required("type", &Block::kind,
                    choice<BlockKind>({{"text", BlockKind::text},
                                       {"thinking", BlockKind::thinking},
                                       {"redacted_thinking", BlockKind::redacted_thinking},
                                       {"tool_use", BlockKind::tool_use},
                                       {"tool_result", BlockKind::tool_result}}),
                    "Type of the block.")
          .add("text", &Block::text, text(), "Text of a block of type text.")
          .add("thinking", &Block::thinking, text(),
               "Thoughts of the model, in a block of type thinking.")
          .add("id", &Block::id, text(), "Id of the call, in a block of type tool_use.")
          .add("name", &Block::name, nonempty_text(),
               "Name of the tool that is called, in a block of type tool_use.")
          .add("input", &Block::input, object_text(),
               "Arguments of the call, in a block of type tool_use.")
          .add("tool_use_id", &Block::tool_use_id, text(),
               "Id of the call that has this result, in a block of type tool_result.")
          .add("content", &Block::result, content_form(result_parts()),
               "Content of a result, in a block of type tool_result.")
          .add("is_error", &Block::is_error, boolean(),
               "Whether the call failed, in a block of type tool_result.");
  return table;
}

Block check_block(Block block, const Path& path) {
  switch (block.kind) {
    case BlockKind::text:
      require(block.text, "text", path);
      break;
    case BlockKind::thinking:
      require(block.thinking, "thinking", path);
      break;
    case BlockKind::tool_use:
      require(block.id, "id", path);
      require(block.name, "name", path);
      break;
    case BlockKind::tool_result:
      require(block.tool_use_id, "tool_use_id", path);
      break;
    case BlockKind::redacted_thinking:
    case BlockKind::hosted:
      break;
  }
  return block;
}

// Calls of tools that the service itself runs, and their results.
bool is_hosted(std::string_view type) {
  return type == "server_tool_use" || type == "mcp_tool_use" || type.ends_with("_tool_result");
}

Form<Block> block_form() {
  Form<Block> form = checked<Block>(object(block_fields()), check_block);
  return {
      form.expected, form.schema, form.types,
      [read = form.read](const Json& json, const Path& path) {
        const auto found = json.find("type");
        const bool named = found != json.end() && found->is_string();
        const std::string type = named ? found->get<std::string>() : "";
        Block block;
        if (is_hosted(type)) {  // has a form of its own, and the prompt does not mention the tool
          block.kind = BlockKind::hosted;
          return block;
        }
        if (type == "image")
          refuse(path, "images are not supported: the models here read texts alone");
        if (!is_document(type)) return read(json, path);
        block.text = document_text(json, path);
        return block;
      }};
}

struct Message {
  std::string role;
  std::vector<Block> content;
};

std::vector<Block> text_block(std::string text) {
  Block block;
  block.text = std::move(text);
  return {std::move(block)};
}

const Fields<Message>& message_fields() {
  static const auto table =
      Fields<Message>()
          .required("role", &Message::role, word({"user", "assistant", "system"}),
                    "Role of the one who speaks.")
          .required("content", &Message::content,
                    either(convert<std::vector<Block>>(text(), text_block), list(block_form())),
                    "Content of the message: a text, or a list of blocks.");
  return table;
}

void append_text(std::string& text, const std::string& more) {
  if (!text.empty()) text += '\n';
  text += more;
}

ChatMessage assistant(const std::vector<Block>& blocks) {
  ChatMessage message{.role = "assistant", .content = {}};
  for (const Block& block : blocks) {
    if (block.kind == BlockKind::text) append_text(message.content, *block.text);
    if (block.kind == BlockKind::thinking) append_text(message.reasoning, *block.thinking);
    if (block.kind == BlockKind::tool_use)
      message.tool_calls.push_back({*block.id, *block.name, block.input});
  }
  return message;
}

// Results of tools become messages of their own, in order.
std::vector<ChatMessage> others(const Message& message) {
  std::vector<ChatMessage> messages;
  for (const Block& block : message.content) {
    if (block.kind == BlockKind::text) {
      if (messages.empty() || messages.back().role != message.role)
        messages.push_back({.role = message.role, .content = *block.text});
      else
        append_text(messages.back().content, *block.text);
    } else if (block.kind == BlockKind::tool_result) {
      messages.push_back({.role = "tool",
                          .content = (block.is_error ? "Error: " : "") + block.result,
                          .tool_call_id = *block.tool_use_id});
    }
  }
  if (messages.empty()) messages.push_back({.role = message.role, .content = {}});
  return messages;
}

bool fits(BlockKind kind, const std::string& role) {
  if (kind == BlockKind::text || kind == BlockKind::hosted) return true;
  if (kind == BlockKind::tool_result) return role == "user";
  return role == "assistant";
}

std::vector<ChatMessage> chat_messages(const Message& message, const Path& path) {
  const Path content = path.member("content");
  for (std::size_t i = 0; i < message.content.size(); ++i) {
    if (fits(message.content[i].kind, message.role)) continue;
    const Path item = content.item(i);
    refuse(item.member("type"), "a block of this type cannot be in a message of this role");
  }
  if (message.role == "assistant") return {assistant(message.content)};
  return others(message);
}

}  // namespace

Form<std::vector<ChatMessage>> message() {
  return checked<std::vector<ChatMessage>>(object(message_fields()), chat_messages);
}

}  // namespace weft::api::anthropic

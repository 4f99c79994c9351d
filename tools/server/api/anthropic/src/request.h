#pragma once
// Requests of Anthropic's interface: /v1/messages and /v1/messages/count_tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/api/generation_fields.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::anthropic {

// The fields that both endpoints read.
struct ChatRequest {
  std::string system;
  bool has_billing_line = false;  // and was left out of it
  std::vector<ChatMessage> messages;
  std::vector<ChatTool> tools;
  ToolChoice tool_choice;
  bool parallel_calls = true;
  std::optional<bool> thinking;  // absent: as the template does it by itself
  std::string effort;
  std::optional<std::string> schema;  // for the answer
  std::string schema_param;
};

struct Request : ChatRequest, GenerationFields {};

const Fields<ChatRequest>& chat_fields();  // count_tokens
const Fields<Request>& fields();           // messages

// The chat, for plan_chat().
ChatTurn chat_turn(const ChatRequest& request);

}  // namespace weft::api::anthropic

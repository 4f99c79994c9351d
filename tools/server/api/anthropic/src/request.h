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
  struct Messages {
    std::vector<ChatMessage> all;
    // Up to the last one with a block that has cache_control; 0: none has.
    std::size_t n_marked = 0;
  };
  Messages messages;
  bool marks_before_messages = false;  // a block of `system`, or a tool, has cache_control
  bool marks_all = false;              // the request has
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

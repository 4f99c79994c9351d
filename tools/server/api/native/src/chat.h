#pragma once
// Chats of /tokenize and /apply-template, in the form of chat completions.

#include <optional>
#include <string>
#include <vector>

#include "weft/api/fields.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::native {

struct ChatFields {
  std::optional<std::vector<ChatMessage>> messages;
  std::vector<ChatTool> tools;
  std::string template_kwargs, reasoning_effort;
  bool add_generation_prompt = true, continue_final_message = true;
};

const Fields<ChatFields>& chat_fields();

// REQUIRES: fields.messages.
ChatTurn chat_turn(const ChatFields& fields);

}  // namespace weft::api::native

#pragma once
// Chats of /tokenize and /apply-template, in the form of chat completions.

#include <optional>
#include <string>
#include <vector>

#include "api/chat_prompt.h"
#include "api/fields.h"

namespace weft::api::native {

struct ChatFields {
  std::optional<std::vector<ChatMessage>> messages;
  std::vector<Tool> tools;
  std::string template_kwargs, reasoning_effort;
  bool add_generation_prompt = true, continue_final_message = true;
};

const Fields<ChatFields>& chat_fields();

// REQUIRES: fields.messages.
ChatInput chat_input(const ChatFields& fields);

}  // namespace weft::api::native

#pragma once
// The input of /v1/responses as messages of a chat.

#include <vector>

#include "weft/api/forms.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::responses {

// A text, or items: messages, calls of tools that the client runs and their results, reasoning.
// Consecutive items of the assistant are one message. Items of tools that the service itself runs
// are skipped. References to items must have been replaced (item_references.h).
Form<std::vector<ChatMessage>> input();

// `instructions` and all messages of the system and of developers as one message at the beginning:
// templates accept no other place for it.
std::vector<ChatMessage> with_instructions(std::string_view instructions,
                                           std::vector<ChatMessage> messages);

}  // namespace weft::api::responses

#pragma once
// The form of messages: content as text or as blocks.

#include <vector>

#include "weft/api/forms.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::anthropic {

// One message of the interface. With results of tools it is several of a template's.
Form<std::vector<ChatMessage>> message();

}  // namespace weft::api::anthropic

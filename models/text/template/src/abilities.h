#pragma once
// Finds out which parts of a conversation a template can show.

#include <functional>
#include <span>
#include <string>

#include "weft/template/chat_template.h"

#include "chat_values.h"

namespace weft::chat {

// Renders messages as they are. `definitions`: of tools, a JSON array, or empty; `variable`: the
// one that gets them. Throws ChatTemplateError.
using PlainRender =
    std::function<std::string(std::span<const ChatMessage> messages, const std::string& definitions,
                              const std::string& variable, const ValueStyle& style)>;

TemplateAbilities abilities_of(const PlainRender& render);

}  // namespace weft::chat

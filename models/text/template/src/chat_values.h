#pragma once
// Conversations as values of templates.

#include <span>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace weft::chat {

// How the arguments of calls are passed on.
enum class CallArguments : std::uint8_t {
  objects,   // JSON objects; texts that are not JSON as texts
  texts,     // some templates put them together as text
  repaired,  // truncated texts as the objects that they began
};

struct ValueStyle {
  CallArguments arguments = CallArguments::objects;
  std::string_view reasoning_member = "reasoning_content";
  const CallWriter* write_calls = nullptr;  // calls are part of the content
};

// A list of messages. Throws ValueError for one without a role, FormatError for text that is not
// UTF-8, and for arguments that are not JSON if they become part of the content.
jinja::Value messages_value(jinja::Heap& heap, std::span<const ChatMessage> messages,
                            const ValueStyle& style);

// Throws FormatError that begins with `what`.
void check_utf8(std::string_view text, std::string_view what);

}  // namespace weft::chat

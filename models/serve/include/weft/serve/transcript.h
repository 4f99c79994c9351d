#pragma once
// A conversation as JSON: the format of Conversation::save() and load(). Without the member for the
// cache it is that of OpenAI's API.
//
//   {"messages": [{"role": "user", "content": "Hello"}, ..],
//    "tools": [..], "template_kwargs": {..}, "cached_text": ".."}

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft {

struct Transcript {
  std::vector<ChatMessage> messages;  // the system prompt first, if there is one
  std::string tools;                  // a JSON array; empty for none
  std::string kwargs;                 // a JSON object; empty for none
  std::string cached_text;            // the text of the saved tokens; empty if unknown
};

std::string to_json(const Transcript& transcript);
// Only the messages, as an array; and one of them. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(std::span<const ChatMessage> messages);
std::string to_json(const ChatMessage& message);

// Also accepts a bare array of messages. Throws FormatError "NAME: ..." for anything else.
Transcript parse_transcript(std::string_view json, const std::string& name);

// Checks variables for templates: throws FormatError "NAME: ..." unless they are a JSON object.
void check_kwargs(std::string_view json, const std::string& name);

// The conversation in readable form.
std::string to_text(const Transcript& transcript);

}  // namespace weft

#pragma once
// A conversation as JSON: what /save writes and /load reads, and, without the parts about the
// cache, what programs for OpenAI's interface exchange.
//
//   {"messages": [{"role": "user", "content": "Hello"}, ..],
//    "tools": [..], "template_kwargs": {..}, "cached_text": ".."}

#include <string>
#include <string_view>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft::chat {

struct Conversation {
  std::vector<ChatMessage> messages;  // a system prompt is the first
  std::string tools;                  // a JSON array; empty for none
  std::string kwargs;                 // a JSON object; empty for none
  std::string cached_text;  // what the tokens beside it stand for; empty where that is not known
};

std::string to_json(const Conversation& conversation);

// Also takes a bare array of messages. Throws FormatError "NAME: ..." for what is no conversation.
Conversation parse_conversation(std::string_view json, const std::string& name);

// Variables for templates: throws FormatError "NAME: ..." for what is no JSON object.
void check_kwargs(std::string_view json, const std::string& name);

// The text for people to read.
std::string to_text(const Conversation& conversation);

}  // namespace weft::chat

#pragma once
// A conversation as JSON: what Conversation::save() writes and load() reads, and, without the part
// about the cache, what programs for OpenAI's interface exchange.
//
//   {"messages": [{"role": "user", "content": "Hello"}, ..],
//    "tools": [..], "template_kwargs": {..}, "cached_text": ".."}

#include <string>
#include <string_view>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft {

struct Transcript {
  std::vector<ChatMessage> messages;  // a system prompt is the first
  std::string tools;                  // a JSON array; empty for none
  std::string kwargs;                 // a JSON object; empty for none
  std::string cached_text;            // what the saved tokens stand for; empty if that is not known
};

std::string to_json(const Transcript& transcript);

// Also takes a bare array of messages. Throws FormatError "NAME: ..." for anything else.
Transcript parse_transcript(std::string_view json, const std::string& name);

// Variables for templates: throws FormatError "NAME: ..." for anything but a JSON object.
void check_kwargs(std::string_view json, const std::string& name);

// The text for people to read.
std::string to_text(const Transcript& transcript);

}  // namespace weft

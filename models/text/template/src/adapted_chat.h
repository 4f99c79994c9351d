#pragma once
// Conversations in a form that a template can show (docs/templates.md#what-templates-lack).

#include <span>
#include <string>
#include <vector>

#include "weft/template/chat_template.h"

namespace weft::chat {

struct AdaptedChat {
  std::vector<ChatMessage> messages;
  std::string tools;  // for the template: a JSON array; empty if there are none
  // The writer of the options, if it writes the calls; they stay in the messages until then.
  const CallWriter* write_calls = nullptr;
};

// Refers to the options. Throws FormatError for tools that are not JSON.
AdaptedChat adapted(const TemplateAbilities& abilities, std::span<const ChatMessage> messages,
                    const ChatRenderOptions& options);

bool has_calls(std::span<const ChatMessage> messages);
// Messages in which words beside a call belong to the thoughts: some templates refuse both.
std::vector<ChatMessage> with_joined_thoughts(std::vector<ChatMessage> messages);
// Messages in which words beside a call are a message of their own, before it.
std::vector<ChatMessage> with_words_apart(std::vector<ChatMessage> messages);
// Messages without words beside calls.
std::vector<ChatMessage> without_words_with_calls(std::vector<ChatMessage> messages);
// Messages of one call each, with its results after it.
std::vector<ChatMessage> with_calls_apart(std::vector<ChatMessage> messages);
// Messages in which those of one role that follow each other are one; not those of tools.
std::vector<ChatMessage> with_joined_neighbours(std::vector<ChatMessage> messages);

// Definitions in which members that are null are left out.
std::string without_nulls(const std::string& tools);
// The same, with the defaults of the specifications for absent members: an empty description,
// parameters without properties, types of parameters.
std::string completed_tools(const std::string& tools);

}  // namespace weft::chat

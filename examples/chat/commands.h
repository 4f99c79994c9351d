#pragma once
// Commands: lines that begin with a slash are for the program, not for the model.

#include <string>
#include <string_view>

#include "weft/chat/tools.h"
#include "weft/serve/conversation.h"

namespace weft::chat {

enum class CommandResult {
  done,
  refused,  // stderr says why
  quit,
  say,          // `text` holds a message for the model
  answer_call,  // `text` holds the result of a tool call
};

// A conversation, and how its next replies to the user begin.
struct Chat {
  Conversation& talk;
  std::string prefill;       // the beginning of every reply
  std::string next_prefill;  // the beginning of the next reply only
};

// "auto", "none", "required", or the name of a tool.
ToolChoice tool_choice(const std::string& text);

// Whether a line begins with a slash and a word of letters, digits, '-', '!' and '?'. Paths such as
// "/usr/bin" and, after "//", any text are messages.
bool is_command(std::string_view line);

// Runs a command; case does not matter. Its output goes to stderr, because stdout is for the
// model's replies. `text` is the line, and after CommandResult::say the message to send.
CommandResult run_command(Chat& chat, std::string& text);

// Describes the conversation that /load has loaded.
std::string describe(const Conversation::Loaded& loaded, const std::string& path);
// On a terminal, the last message and its reply, and hints().
std::string recall(const Conversation& chat);
// Asks for the results of tool calls.
std::string hints(const Conversation& chat);

}  // namespace weft::chat

#pragma once
// What begins with a slash is for the program, not for the model.

#include <string>
#include <string_view>

#include "weft/serve/conversation.h"

namespace weft::chat {

enum class CommandResult {
  done,
  quit,
  say,          // `text` holds a message for the model
  answer_call,  // `text` holds the result of a tool call
};

bool is_command(std::string_view line);  // "//" begins a message with a slash

// Runs a command and writes to stderr what it has to say: stdout is for the model's words. `text`
// is the line, and the message to send after CommandResult::say.
CommandResult run_command(Conversation& chat, std::string& text);

// What /load says about what it loaded.
std::string describe(const Conversation::Loaded& loaded, const std::string& path);
// On a terminal the last message and its reply, and hints().
std::string recall(const Conversation& chat);
// What the program waits for: results of tool calls.
std::string hints(const Conversation& chat);

}  // namespace weft::chat

#include "chat/commands.h"

#include <iostream>

#include <fmt/format.h>

#include "weft/graph/error.h"
#include "weft/models/output_file.h"
#include "weft/scheduler/budget.h"

namespace weft::chat {
namespace {

struct Command {
  std::string_view name, argument, summary;
  CommandResult (*run)(Chat& chat, std::string& text);  // text: the argument
};

CommandResult help(Chat& chat, std::string& text);

CommandResult reset(Chat& chat, std::string&) {
  chat.reset();
  std::cerr << "The conversation begins anew.\n";
  return CommandResult::done;
}

CommandResult system(Chat& chat, std::string& text) {
  std::cerr << (text.empty() ? "No system prompt any more" : "System prompt set")
            << "; the conversation begins anew.\n";
  chat.set_system(std::move(text));
  return CommandResult::done;
}

CommandResult again(Chat& chat, std::string& text) {
  text = chat.take_back();
  if (!text.empty()) return CommandResult::say;
  std::cerr << "There is no message yet.\n";
  return CommandResult::done;
}

CommandResult result(Chat& chat, std::string&) {
  if (!chat.open_calls().empty()) return CommandResult::answer_call;
  std::cerr << "No tool call waits for a result.\n";
  return CommandResult::done;
}

// A message as text for people.
std::string readable(const ChatMessage& message) {
  std::string text = fmt::format("## {}\n\n", message.role);
  if (!message.reasoning.empty()) text += fmt::format("> {}\n\n", message.reasoning);
  text += message.content + "\n\n";
  for (const ToolCall& call : message.tool_calls)
    text += fmt::format("[call {}] {}\n\n", call.name, call.arguments);
  return text;
}

CommandResult save(Chat& chat, std::string& text) {
  if (text.empty()) {
    std::cerr << "/save needs the name of a file.\n";
    return CommandResult::done;
  }
  try {
    OutputFile file(text);
    for (const ChatMessage& message : chat.messages()) file.write(readable(message));
    file.commit();
    std::cerr << fmt::format("{} messages in {}\n", chat.messages().size(), text);
  } catch (const IoError& error) {
    std::cerr << error.what() << '\n';
  }
  return CommandResult::done;
}

CommandResult stats(Chat& chat, std::string&) {
  const auto line = [](const char* what, const Speed& speed) {
    const double rate = speed.seconds > 0 ? static_cast<double>(speed.tokens) / speed.seconds : 0;
    std::cerr << fmt::format("{:<12}{:>6} tokens {:10.1f} tokens/s\n", what, speed.tokens, rate);
  };
  line("last prompt", chat.last_prompt());
  line("last reply", chat.last_reply());
  const Session& session = chat.session();
  std::cerr << fmt::format("{:<12}{:>6} of {} tokens\n", "context", session.length(0),
                           session.options().context)
            << session.memory().to_text();
  return CommandResult::done;
}

CommandResult quit(Chat&, std::string&) {
  return CommandResult::quit;
}

constexpr Command kCommands[] = {
    {"help", "", "this list", help},
    {"reset", "", "forget the conversation, keep the system prompt", reset},
    {"system", " TEXT", "another system prompt, and begin anew", system},
    {"again", "", "another reply to the last message", again},
    {"result", " TEXT", "what the first open tool call gave; after the last one the model goes on",
     result},
    {"save", " FILE", "write the conversation to a file", save},
    {"stats", "", "speeds, context, memory", stats},
    {"quit", "", "leave; so does Ctrl-D", quit},
};

CommandResult help(Chat&, std::string&) {
  for (const Command& command : kCommands)
    std::cerr << fmt::format("  {:<14}{}\n", fmt::format("/{}{}", command.name, command.argument),
                             command.summary);
  std::cerr << "  A line that ends with \\ goes on in the next; \"\"\" begins and ends a block of "
               "lines.\n  // begins a message with a slash. Ctrl-C stops a reply.\n";
  return CommandResult::done;
}

}  // namespace

bool is_command(std::string_view line) {
  return line.starts_with('/') && !line.starts_with("//");
}

CommandResult run_command(Chat& chat, std::string& text) {
  const std::size_t space = text.find_first_of(" \t\n");
  const std::string name = text.substr(1, space == std::string::npos ? space : space - 1);
  const std::size_t start = text.find_first_not_of(" \t\n", space);
  text = start == std::string::npos ? "" : text.substr(start);
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(chat, text);
  }
  std::cerr << fmt::format("There is no /{}. /help lists what there is.\n", name);
  return CommandResult::done;
}

}  // namespace weft::chat

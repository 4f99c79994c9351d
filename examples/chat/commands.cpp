#include "chat/commands.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/files/output_file.h"
#include "weft/scheduler/budget.h"

#include "chat/word_wrap.h"
#include "common/terminal.h"

namespace weft::chat {
namespace {

constexpr std::string_view kSpaces = " \t\n";

struct Command {
  std::string_view name, argument, summary;
  CommandResult (*run)(Chat& chat, std::string& text);  // text: the argument
};

CommandResult help(Chat& chat, std::string& text);

CommandResult reset(Chat& chat, std::string&) {
  chat.talk.reset();
  std::cerr << "The conversation starts over.\n";
  return CommandResult::done;
}

CommandResult system(Chat& chat, std::string& text) {
  std::cerr << (text.empty() ? "System prompt removed" : "System prompt set")
            << "; the conversation starts over.\n";
  chat.talk.set_system(std::move(text));
  return CommandResult::done;
}

CommandResult again(Chat& chat, std::string& text) {
  text = chat.talk.undo_turn();
  if (!text.empty()) return CommandResult::say;
  std::cerr << "No messages yet.\n";
  return CommandResult::refused;
}

// The number at the beginning of a text, which loses it; 0 if there is none.
std::size_t take_number(std::string& text) {
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} ||
      (length < text.size() && kSpaces.find(text[length]) == std::string_view::npos))
    return 0;
  text.erase(0, text.find_first_not_of(kSpaces, length));
  return n;
}

CommandResult edit(Chat& chat, std::string& text) {
  const auto& messages = chat.talk.messages();
  const auto n_said = static_cast<std::size_t>(
      std::ranges::count(messages, std::string_view("user"), &ChatMessage::role));
  const std::size_t n = take_number(text);
  if (n == 0 || n > n_said || text.empty()) {
    std::cerr << fmt::format(
        "/edit N TEXT: N is 1 for your first message, {} for your last one; TEXT replaces it.\n",
        n_said);
    return CommandResult::refused;
  }
  for (std::size_t i = n; i <= n_said; ++i) chat.talk.undo_turn();
  return CommandResult::say;
}

CommandResult result(Chat& chat, std::string&) {
  if (!chat.talk.open_calls().empty()) return CommandResult::answer_call;
  std::cerr << "No open tool call.\n";
  return CommandResult::refused;
}

// Runs a command for a file, whose name may begin with "~/". Errors are reported, and the
// conversation continues.
CommandResult with_file(std::string_view command, std::string& path, const auto& body) {
  path.erase(path.find_last_not_of(" \t\n") + 1);
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home) path.replace(0, 1, home);
  if (path.empty()) {
    std::cerr << fmt::format("/{} needs the name of a file.\n", command);
    return CommandResult::refused;
  }
  try {
    return body();
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool named = message.find(path) != std::string::npos;
    std::cerr << (named ? "" : path + ": ") << message << '\n';
    return CommandResult::refused;
  }
}

CommandResult save_as(Chat& chat, std::string& path, std::string_view command) {
  return with_file(command, path, [&] {
    std::error_code ignored;
    if (command == "save" && std::filesystem::exists(path, ignored)) {
      std::cerr << fmt::format("{} exists and was not replaced; /save! {} replaces it\n", path,
                               path);
      return CommandResult::refused;
    }
    const bool with_cache = chat.talk.save(path);
    std::cerr << fmt::format("{} messages in {}{}\n", chat.talk.messages().size(), path,
                             with_cache ? ", with their computed states" : "");
    return CommandResult::done;
  });
}

CommandResult save(Chat& chat, std::string& path) {
  return save_as(chat, path, "save");
}

CommandResult replace(Chat& chat, std::string& path) {
  return save_as(chat, path, "save!");
}

CommandResult load(Chat& chat, std::string& path) {
  return with_file("load", path, [&] {
    std::cerr << describe(chat.talk.load(path), path) << recall(chat.talk);
    return CommandResult::done;
  });
}

CommandResult write_out(Chat& chat, std::string& path) {
  return with_file("export", path, [&] {
    OutputFile file(path, Readers::owner);
    file.write(chat.talk.text());
    file.commit();
    std::cerr << fmt::format("{} messages in {}\n", chat.talk.messages().size(), path);
    return CommandResult::done;
  });
}

CommandResult stats(Chat& chat, std::string&) {
  const auto line = [](const char* what, const Speed& speed) {
    const double rate = speed.seconds > 0 ? static_cast<double>(speed.tokens) / speed.seconds : 0;
    std::cerr << fmt::format("{:<12}{:>6} tokens {:10.1f} tokens/s\n", what, speed.tokens, rate);
  };
  line("last prompt", chat.talk.last_prompt());
  std::cerr << fmt::format("{:<12}{:>6} tokens more, which were there\n", "  reused",
                           chat.talk.last_reused());
  line("last reply", chat.talk.last_reply());
  const Session& session = chat.talk.session();
  std::cerr << fmt::format("{:<12}{:>6} of {} tokens\n", "context",
                           session.length(chat.talk.sequence()), session.options().context)
            << session.memory().to_text();
  return CommandResult::done;
}

CommandResult prefill(Chat& chat, std::string& text) {
  std::cerr << (text.empty() ? "The next reply begins freely.\n"
                             : "The next reply begins with this text.\n");
  chat.next_prefill = std::move(text);
  return CommandResult::done;
}

CommandResult choose_tools(Chat& chat, std::string& text) {
  text.erase(text.find_last_not_of(" \t\n") + 1);
  try {
    chat.talk.set_tool_choice(tool_choice(text.empty() ? "auto" : text));
  } catch (const ValueError& error) {
    std::cerr << error.what() << '\n';
    return CommandResult::refused;
  }
  std::cerr << fmt::format("Tool choice: {}.\n", text.empty() ? "auto" : text);
  return CommandResult::done;
}

CommandResult quit(Chat&, std::string&) {
  return CommandResult::quit;
}

constexpr Command kCommands[] = {
    {"help", "", "this list", help},
    {"reset", "", "forget the conversation, keep the system prompt; also /clear, /new", reset},
    {"system", " TEXT", "set the system prompt and start over", system},
    {"again", "", "another reply to the last message", again},
    {"edit", " N TEXT", "replace your Nth message; what came after it is forgotten", edit},
    {"result", " TEXT",
     "the result of the first open tool call; after the last one the model continues", result},
    {"tool-choice", " CHOICE",
     "tools that the next replies may call: auto, none, required, or the name of a tool",
     choose_tools},
    {"prefill", " TEXT", "the next reply begins with this text", prefill},
    {"save", " FILE", "save the conversation to a new file, to continue it later", save},
    {"save!", " FILE", "the same; replaces an older conversation", replace},
    {"load", " FILE", "continue a saved conversation", load},
    {"export", " FILE", "write the conversation as readable text; replaces FILE", write_out},
    {"stats", "", "speeds, context, memory", stats},
    {"quit", "", "exit; so does Ctrl-D", quit},
};

// Names by which other programs know a command.
struct OtherName {
  std::string_view typed, name;
};
constexpr OtherName kOtherNames[] = {
    {"clear", "reset"}, {"new", "reset"},   {"exit", "quit"}, {"bye", "quit"},
    {"q", "quit"},      {"regen", "again"}, {"?", "help"},
};

// What is between the slash and the first space.
std::string_view name_in(std::string_view line) {
  return line.substr(1, line.find_first_of(kSpaces) - 1);
}

CommandResult help(Chat&, std::string&) {
  for (const Command& command : kCommands)
    std::cerr << fmt::format("  {:<21}{}\n", fmt::format("/{}{}", command.name, command.argument),
                             command.summary);
  std::cerr
      << "  A line that ends with \\ continues on the next; \"\"\" begins and ends a block of "
         "lines.\n  What is pasted is text, with all of its lines. // begins a message with a "
         "slash;\n  a path such as /etc/hosts begins one, too. Ctrl-C stops a reply.\n";
  return CommandResult::done;
}

}  // namespace

std::string describe(const Conversation::Loaded& loaded, const std::string& path) {
  std::string text = fmt::format("{} messages from {}", loaded.n_messages, path);
  if (loaded.n_cached > 0)
    text += fmt::format(", {} tokens of them already computed", loaded.n_cached);
  else
    text += "; they are computed again with the next message";
  if (!loaded.why_not.empty()) text += ": " + loaded.why_not;
  return text + '\n';
}

std::string recall(const Conversation& chat) {
  const auto& messages = chat.messages();
  std::string text;
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
    const auto said = std::find_if(messages.rbegin(), messages.rend(),
                                   [](const ChatMessage& m) { return m.role == "user"; });
    if (said != messages.rend()) text += fmt::format("\n> {}\n", said->content);
    if (!messages.empty() && messages.back().role == "assistant") {
      const std::size_t columns = cli::terminal_columns(STDERR_FILENO);
      WordWrap wrap;
      text += wrap.next(messages.back().content, columns);
      text += wrap.end(columns) + '\n';
    }
  }
  return text + hints(chat);
}

std::string hints(const Conversation& chat) {
  std::string text;
  for (const ToolCall& call : chat.open_calls())
    text += fmt::format("[/result TEXT gives the result of {}]\n", call.name);
  return text;
}

ToolChoice tool_choice(const std::string& text) {
  using Kind = ToolChoice::Kind;
  if (text == "auto") return {Kind::automatic};
  if (text == "none") return {Kind::none};
  if (text == "required") return {Kind::required};
  return {Kind::named, text};
}

bool is_command(std::string_view line) {
  if (!line.starts_with('/')) return false;
  const std::string_view name = name_in(line);
  return std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '!' || c == '?';
  });
}

CommandResult run_command(Chat& chat, std::string& text) {
  const std::string name = to_lower(name_in(text));
  const std::size_t start = text.find_first_not_of(kSpaces, 1 + name.size());
  text = start == std::string::npos ? "" : text.substr(start);
  const auto other = std::ranges::find(kOtherNames, name, &OtherName::typed);
  const std::string_view known = other == std::end(kOtherNames) ? name : other->name;
  for (const Command& command : kCommands) {
    if (known == command.name) return command.run(chat, text);
  }
  std::cerr << fmt::format("Unknown command /{}. Commands are:\n", name);
  help(chat, text);
  return CommandResult::refused;
}

}  // namespace weft::chat

#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/chat/reply_sink.h"
#include "weft/chat/tools.h"
#include "weft/scheduler/communicator.h"
#include "weft/serve/conversation.h"
#include "weft/serve/transcript.h"

#include "chat/commands.h"
#include "chat/line_reader.h"
#include "chat/program.h"
#include "chat/word_wrap.h"
#include "common/constraint_flags.h"
#include "common/draft_flags.h"
#include "common/flags.h"
#include "common/program.h"
#include "common/read_text.h"
#include "common/template_flags.h"
#include "common/terminal.h"
#include "common/terminal_output.h"
#include "common/tune_once.h"

namespace {

using namespace weft;
using namespace weft::chat;

struct Options {
  cli::ModelFlags model;
  cli::SamplerFlags sampler;
  cli::ConstraintFlags constraint;
  cli::DraftFlags drafts;
  cli::TemplateFlags chat_template;
  ConversationOptions chat;
  std::string tools_file;
  bool one_call = false;
  std::string prefill;
  std::string resume;
};

const char* remark(StopReason end) {
  switch (end) {
    case StopReason::max_tokens:
      return "[cut at the limit of -n]\n";
    case StopReason::context_full:
      return "[the context is full: /reset starts over, a larger -c holds more]\n";
    case StopReason::cancelled:
      return "[stopped]\n";
    default:
      return "";
  }
}

// The answer and calls, each on its own line, go to stdout; reasoning goes to stderr, dim on a
// terminal. Terminals get line breaks between words; a pipe or a file gets the text as it is.
class Display : public ReplySink {
 public:
  void end() {
    end_thoughts();
    end_words();
    if (line_open_) cli::print_now("\n");
  }

 private:
  void on_reasoning(const std::string& text) override {
    end_words();
    if (!thinking_ && colored_) cli::send_controls(std::cerr, "\x1b[2m");
    thinking_ = true;
    std::cerr << (colored_ ? thoughts_.next(shown_thoughts_.next(text), columns(STDERR_FILENO))
                           : text)
              << std::flush;
  }
  void on_content(const std::string& text) override {
    end_thoughts();
    cli::print_now(wraps_ ? answer_.next(shown_answer_.next(text), columns(STDOUT_FILENO)) : text);
    line_open_ = !text.ends_with('\n');
    has_words_ = true;
  }
  void on_call(int, const std::string&, const std::string& name) override {
    end_thoughts();
    end_words();
    cli::print_now(fmt::format("{}[call {}] ", line_open_ && has_words_ ? "\n" : "", name));
    line_open_ = true;
  }
  void on_arguments(int, const std::string& text) override { cli::print_now(text); }
  void on_call_end(int) override {
    cli::print_now("\n");
    line_open_ = false;
  }

  static std::size_t columns(int descriptor) { return cli::terminal_columns(descriptor); }
  static std::string rest(cli::TerminalText& shown, WordWrap& words, std::size_t columns) {
    std::string last = words.next(shown.end(), columns);
    return last += words.end(columns);
  }
  void end_words() { cli::print_now(rest(shown_answer_, answer_, columns(STDOUT_FILENO))); }
  void end_thoughts() {
    if (!std::exchange(thinking_, false)) return;
    std::cerr << rest(shown_thoughts_, thoughts_, columns(STDERR_FILENO));
    if (colored_) cli::send_controls(std::cerr, "\x1b[0m");
    std::cerr << '\n' << std::flush;
  }
  // Escaped before it is wrapped: only then its width is known.
  cli::TerminalText shown_answer_, shown_thoughts_;
  WordWrap answer_, thoughts_;
  bool colored_ = isatty(STDERR_FILENO) != 0;
  bool wraps_ = isatty(STDOUT_FILENO) != 0;
  bool thinking_ = false;
  bool line_open_ = true;  // an empty reply is an empty line
  bool has_words_ = false;
};

void take_turn(Chat& chat, LineReader& reader, std::string message, bool is_result) {
  Display display;
  const auto show = [&](const ReplyEvent& event) { display.take(event); };
  const auto reply = [&] {
    if (is_result) return chat.talk.answer_call(std::move(message), show);
    const StopReason end = chat.talk.say(std::move(message), show, chat.next_prefill);
    chat.next_prefill = chat.prefill;
    return end;
  };
  StopReason end = StopReason::none;
  const std::int64_t n_dropped = chat.talk.n_dropped();
  try {
    end = reply();
  } catch (...) {
    display.end();
    throw;
  }
  display.end();
  if (const std::int64_t n = chat.talk.n_dropped() - n_dropped; n > 0)
    std::cerr << fmt::format("[the context was full: {} tokens of the conversation were dropped]\n",
                             n);
  std::cerr << remark(end) << (end == StopReason::cancelled ? reader.leave_hint() : "")
            << hints(chat.talk);
}

constexpr const char* kNotTaken = "\n[the message was not accepted; /reset starts over]\n";

// Handles one message or command.
CommandResult handle(Chat& chat, LineReader& reader, std::string text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) return CommandResult::done;
  bool is_result = false;
  try {
    if (is_command(text)) {
      const CommandResult result = run_command(chat, text);
      is_result = result == CommandResult::answer_call;
      if (!is_result && result != CommandResult::say) return result;
    } else if (text.starts_with("//")) {
      text.erase(0, 1);
    }
    take_turn(chat, reader, std::move(text), is_result);
    return CommandResult::done;
  } catch (const IoError&) {
    throw;
  } catch (const CancelledError&) {
    throw;
  } catch (const RankError&) {  // no message can be answered any more
    throw;
  } catch (const Error& error) {  // in this message, this template or its tools
    std::cerr << error.what() << kNotTaken;
  }
  return CommandResult::refused;
}

// Handles all messages. Returns the exit code: a script must be able to see that a line was
// refused, while a user at a terminal has read it.
int converse(Chat& chat, LineReader& reader, const Speculation& speculation) {
  int code = 0;
  while (auto text = reader.message()) {
    const CommandResult result = handle(chat, reader, std::move(*text));
    if (result == CommandResult::quit) break;
    if (reader.interactive()) continue;
    if (cli::interrupted()) return cli::kInterrupted;
    if (result == CommandResult::refused) code = cli::kError;
  }
  if (reader.interactive()) std::cerr << '\n';
  std::cerr << cli::draft_report(speculation);
  return code;
}

// Launchers of ranks pass input on through a pipe: the user may still be at a terminal.
void greet(const Session& session, const MemoryUse& use, const std::string& path) {
  const std::string& name = session.model().facts().name;
  std::cerr << fmt::format(
      "{}, context of {} tokens, {} of memory. /help lists the commands, Ctrl-D exits{}.\n\n",
      name.empty() ? path : name, session.options().context, human_bytes(use.total()),
      launched_ranks() > 1 ? ", Ctrl-C ends all ranks" : "");
}

int run(Options options) {
  if (!options.tools_file.empty()) options.chat.tools = cli::read_text(options.tools_file);
  const std::string& tools = options.chat.tools;  // errors in them come before the model is loaded
  check_tools(tools.empty() ? std::vector<ChatTool>{} : parse_tools(tools, "tools"),
              options.chat.tool_choice, "--tool-choice");
  if (const std::string& kwargs = options.chat_template.kwargs; !kwargs.empty())
    check_kwargs(kwargs, "--template-kwargs");
  cli::catch_interrupts(cli::Interrupts::once);
  cli::tune_once(options.model);
  const auto model = cli::load_model(options.model, cli::continue_unless_interrupted);
  const SpeculationOptions drafts = cli::speculation_options(options.drafts, *model, options.model);
  MemoryOffer offer =
      plan_memory(*model, cli::demand_of_chat(*model, options.model.session, drafts));
  const MemoryUse use = offer.memory();
  Session session(std::move(offer.planned), model);
  cli::print_concessions(session);
  options.chat.chat_template = cli::load_template(options.chat_template, model->vocabulary());
  options.chat.kwargs = options.chat_template.kwargs;
  options.chat.sampler = cli::sampler_options(*model, options.sampler);
  options.chat.constraint = cli::read_constraint(options.constraint);
  options.chat.rules = {.stops = options.constraint.stops, .banned = options.constraint.banned};
  options.chat.parallel_calls = !options.one_call;
  options.chat.cancel = &cli::interrupt_flag();
  const Speculation speculation(session, drafts, std::move(offer.drafts));
  options.chat.draft = speculation.draft();
  options.chat.max_guesses = options.drafts.speculation.max_guesses;
  Conversation talk(session, 0, options.chat);
  cli::set_terminal_locale();
  if (!options.resume.empty())
    std::cerr << describe(talk.load(options.resume), options.resume) << recall(talk);
  Chat chat{talk, options.prefill, options.prefill};
  LineReader reader;
  if (reader.interactive() || launched_ranks() > 1) greet(session, use, options.model.path);
  cli::catch_interrupts(cli::Interrupts::every);
  return converse(chat, reader, speculation);
}

void add_tool_flags(cli::App& app, Options& options) {
  app.add_option("--tools", options.tools_file,
                 "tools that the model may call: a JSON array of definitions in a file")
      .type_name("FILE");
  app.add_option_function(
         "--tool-choice",
         [&options](const std::string& text) { options.chat.tool_choice = tool_choice(text); },
         "tools that the model may call: auto, none, required, or the name of one tool")
      .type_name("CHOICE");
  app.add_flag("--no-parallel-tool-calls", options.one_call, "at most one call in a reply");
}

int run_chat(int argc, char** argv) {
  cli::App app("Chats with a model. Replies go to stdout, everything else to stderr.", "chat");
  Options options;
  cli::add_model_flags(app, options.model);
  cli::add_expert_usage_flag(app, options.model);
  const cli::Option system = app.add_option("--system", options.chat.system, "the system prompt");
  app.add_option("--resume", options.resume,
                 "continue the conversation that /save wrote to this file")
      .excludes(system)
      .type_name("FILE");
  cli::add_template_flags(app, options.chat_template);
  add_tool_flags(app, options);
  app.add_option("--prefill", options.prefill, "replies to you begin with this text")
      .type_name("TEXT");
  cli::add_length_flag(app, options.chat.max_reply, "; the text is one reply");
  cli::add_context_flags(app, options.chat.context_end);
  cli::add_constraint_flags(app, options.constraint);
  cli::add_sampler_flags(app, options.sampler);
  cli::add_draft_flags(app, options.drafts);
  app.footer(
      "Examples:\n"
      "  chat\n"
      "  chat -m model.gguf --system 'Answer in one sentence.' -c 4096\n"
      "  echo 'Tell me a story about a fox named Pip.' | chat -s 7\n"
      "  chat -m model.gguf --tools tools.json --template-kwargs '{\"enable_thinking\": false}'\n"
      "  chat -m model.gguf --tools tools.json --tool-choice required\n"
      "  chat --prefill 'Once upon a time' -n 40\n"
      "  chat -m model.gguf --json-schema-file answer.schema.json --temp 0\n"
      "  chat -m model.gguf --resume talk.chat   # saved by /save talk.chat\n"
      "Without a terminal every line of stdin is a message, and the exit code is 1 if one was\n"
      "refused. Lines typed on a terminal are kept in ~/.local/state/weft/chat_history.");
  if (const auto code = cli::parse_flags(app, argc, argv)) return *code;
  cli::complete(options.drafts, options.model);
  return run(options);
}

}  // namespace

int weft::chat::run_program(int argc, char** argv) {
  return cli::run_program("chat", [&] { return run_chat(argc, argv); });
}

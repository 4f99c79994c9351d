#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "weft/graph/error.h"

#include "chat/chat.h"
#include "chat/commands.h"
#include "chat/line_reader.h"
#include "common/flags.h"
#include "common/program.h"

namespace {

using namespace weft;
using namespace weft::chat;

struct Options {
  cli::ModelFlags model;
  SamplerOptions sampler;
  ChatOptions chat;
};

const char* remark(ReplyEnd end) {
  switch (end) {
    case ReplyEnd::complete:
      return "";
    case ReplyEnd::max_reply:
      return "[cut at the limit of -n]\n";
    case ReplyEnd::context_full:
      return "[the context is full: /reset begins anew, -c holds more]\n";
    case ReplyEnd::interrupted:
      return "[stopped]\n";
  }
  return "";
}

void take_turn(Chat& chat, std::string message) {
  const ReplyEnd end = chat.say(std::move(message), cli::interrupted(), cli::print_now);
  cli::print_now("\n");
  std::cerr << remark(end);
}

// One line of input, whatever it is. False: leave.
bool handle(Chat& chat, std::string text) {
  if (text.find_first_not_of(" \t\n") == std::string::npos) return true;
  try {
    if (is_command(text)) {
      const CommandResult result = run_command(chat, text);
      if (result != CommandResult::say) return result != CommandResult::quit;
    } else if (text.starts_with("//")) {
      text.erase(0, 1);
    }
    take_turn(chat, std::move(text));
  } catch (const ValueError& error) {
    std::cerr << error.what() << "\n[the message was not taken; /reset begins anew]\n";
  }
  return true;
}

int run(const Options& options) {
  cli::catch_interrupts(cli::Interrupts::once);
  const auto model = cli::load_model(options.model, cli::not_interrupted);
  for (const std::string& warning : model->warnings()) std::cerr << "warning: " << warning << '\n';
  Session session(model, options.model.session);
  for (const std::string& given_up : session.concessions())
    std::cerr << "to keep the budget: " << given_up << '\n';
  SamplerOptions sampler = options.sampler;
  cli::finish_sampler_options(*model, sampler);
  Chat chat(session, sampler, options.chat);
  LineReader reader;
  if (reader.interactive()) {
    const ModelFacts& facts = model->facts();
    std::cerr << fmt::format(
        "{}, context of {} tokens. /help lists the commands, Ctrl-D leaves.\n\n",
        facts.name.empty() ? options.model.path : facts.name, session.options().context);
  }
  cli::catch_interrupts(cli::Interrupts::every);
  while (auto text = reader.message()) {
    if (!handle(chat, std::move(*text))) break;
    if (!reader.interactive() && cli::interrupted()) return cli::kInterrupted;
  }
  if (reader.interactive()) std::cerr << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Talks with a model. Its words go to stdout, everything else to stderr.", "chat");
  Options options;
  cli::add_model_flags(app, options.model);
  app.add_option("--system", options.chat.system, "the system prompt");
  app.add_option(
         "--chat-template", options.chat.template_name,
         "how messages become text: " + fmt::format("{}", fmt::join(chat_template_names(), ", ")) +
             " (default: the file's)")
      ->type_name("NAME");
  app.add_option("-n,--predict,--n-predict", options.chat.max_reply,
                 "most tokens of a reply; -1: until it ends")
      ->check(CLI::Range(std::int64_t{-1}, std::int64_t{1} << 40));
  cli::add_constraint_flags(app, options.chat.constraint);
  cli::add_sampler_flags(app, options.sampler);
  app.footer(
      "Examples:\n"
      "  chat\n"
      "  chat -m model.gguf --system 'Answer in one sentence.' -c 4096\n"
      "  echo 'Tell me a story about a fox named Pip.' | chat -s 7\n"
      "Without a terminal every line of stdin is a message. Lines typed on a terminal are kept in\n"
      "~/.local/state/weft/chat_history.");
  if (const auto code = cli::parse_flags(app, argc, argv)) return *code;
  return cli::run_program("chat", [&] { return run(options); });
}

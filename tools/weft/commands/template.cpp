#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"
#include "weft/files/vocabulary_file.h"
#include "weft/reply/reply_parser.h"
#include "weft/template/chat_template.h"
#include "weft/tokenize/vocabulary.h"

#include "common/template_flags.h"
#include "common/terminal_output.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

// The words of the template itself as they are; other errors with their place.
std::string message_of(const ChatTemplateError& error) {
  if (error.cause() == ChatTemplateError::Cause::raised) return error.message();
  return fmt::format("line {}, column {}: {}", error.line(), error.column(), error.message());
}

nlohmann::ordered_json render(const ChatTemplate& chat_template, const std::string& line,
                              const ChatRenderOptions& defaults) {
  try {
    return {{"output", chat_template.render_arguments(line, defaults).text}};
  } catch (const ChatTemplateError& error) {
    return {{"error", message_of(error)}, {"line", error.line()}, {"column", error.column()}};
  } catch (const FormatError& error) {
    return {{"error", error.what()}};
  }
}

// The template's abilities, one fact per line.
void print_facts(const ChatTemplate& chat_template) {
  const TemplateAbilities& can = chat_template.for_tools().abilities();
  const TemplateSyntax found = template_syntax(chat_template);
  const auto shown = [](bool yes) { return yes ? "shown" : "not shown"; };
  const auto print = [](std::string_view what, std::string_view fact) {
    std::cout << fmt::format("{:18}{}\n", what, fact);
  };
  print("system message", !can.system        ? "not shown"
                          : can.later_system ? "shown anywhere"
                                             : "shown at the beginning");
  print("tools", can.tools ? fmt::format("shown, from {}", can.tools_variable) : "not shown");
  print("calls", shown(can.calls));
  print("results", shown(can.results));
  if (can.calls && !can.words_with_calls) print("words with calls", "in a message of their own");
  if (can.calls && !can.many_calls) print("several calls", "in messages of their own");
  if (can.calls) print("ids of calls", can.short_ids ? "nine letters or digits" : "any");
  print("reasoning",
        found.syntax.reasoning.empty()
            ? "none"
            : fmt::format("{}, from {}", found.syntax.reasoning, can.reasoning_member));
  print("notation", fmt::format("{}{}", found.syntax.calls.empty() ? "none" : found.syntax.calls,
                                found.round_trip ? ", read back equal" : ""));
}

struct Flags {
  std::string model, file;
  bool jsonl = false, facts = false;
};

void add_flags(cli::App& app, Flags& flags) {
  app.add_option("-m,--model", flags.model,
                 "GGUF file or directory whose template, BOS and EOS are used")
      .file_suffix(".gguf")
      .type_name("FILE");
  app.add_option("--chat-template-file", flags.file,
                 "a template to use instead of the model's; - is stdin")
      .type_name("FILE");
  app.add_flag(
      "--jsonl", flags.jsonl,
      "render the arguments on stdin: messages, tools, documents, add_generation_prompt, "
      "bos_token, eos_token, strftime_now (the clock) and any others that the template reads");
  app.add_flag("--facts", flags.facts,
               "print which parts of a conversation the template shows, and how it writes calls");
  app.footer(
      "Examples:\n"
      "  weft template -m model.gguf\n"
      "  weft template -m model.gguf --facts\n"
      "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | weft template -m "
      "model.gguf --jsonl");
}

// The template of the file, or the model's, which may have another one for tools; and the model's
// BOS and EOS.
std::unique_ptr<const ChatTemplate> read_templates(const Flags& flags,
                                                   ChatRenderOptions& defaults) {
  std::string source, for_tools;
  if (!flags.model.empty()) {
    const Checkpoint gguf =
        Checkpoint::open(flags.model, {.allow_unknown_settings = true, .rank_files = true});
    const auto vocabulary = read_vocabulary(gguf);
    const auto text = [&](TokenId id) {
      return id == kNoToken ? std::string() : std::string(vocabulary->text(id));
    };
    defaults.bos = text(vocabulary->special().bos);
    defaults.eos = text(vocabulary->special().eos);
    source = vocabulary->chat_template();
    for_tools = vocabulary->tool_template();
    if (source.empty() && flags.file.empty())
      fail<ValueError>("the model has no chat template; --chat-template-file names one");
  }
  if (!flags.file.empty()) return make_chat_template(cli::read_template(flags.file));
  return make_chat_template(source, for_tools);
}

int render_template(int argc, char** argv) {
  cli::App app(
      "Renders a chat template: reads a JSON object of arguments per line and prints a JSON object "
      "with the output or the error. Without --jsonl it prints the template itself.",
      "weft template");
  Flags flags;
  add_flags(app, flags);
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  if (flags.model.empty() && flags.file.empty())
    fail<cli::UsageError>("give a model with -m or a template with --chat-template-file");

  ChatRenderOptions defaults;
  const auto chat_template = read_templates(flags, defaults);
  cli::use_own_buffers();
  if (flags.facts) {
    print_facts(*chat_template);
    return 0;
  }
  if (!flags.jsonl) {
    std::cout << chat_template->source() << '\n';
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << render(*chat_template, line, defaults)
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  }
  return 0;
}

}  // namespace

const Subcommand kTemplate{"template", "renders a chat template with the arguments on stdin",
                           render_template};

}  // namespace weft::tools

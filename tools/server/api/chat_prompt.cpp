#include "api/chat_prompt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/reply/call_writer.h"
#include "weft/reply/reply_grammar.h"
#include "weft/run/model.h"
#include "weft/serve/prompt.h"

#include "api/errors.h"
#include "api/json.h"

namespace weft::api {
namespace {

using ChoiceKind = ToolChoice::Kind;

// How much of the prompt's end is looked at for an open section of reasoning.
constexpr std::size_t kPromptEnd = 200;

// Whether the reply may have calls.
bool may_call(const ChatInput& input) {
  return !input.tools.empty() && input.tool_choice.kind != ChoiceKind::none;
}

bool must_call(const ChatInput& input) {
  return may_call(input) && input.tool_choice.kind != ChoiceKind::automatic;
}

bool continues(const ChatInput& input) {
  return input.continue_final_message && input.messages.size() > 1 &&
         input.messages.back().role == "assistant" && input.messages.back().tool_calls.empty();
}

std::string tools_json(const ChatInput& input) {
  if (!may_call(input)) return "";
  std::string all;
  for (const Tool& tool : input.tools) all += (all.empty() ? "[" : ",") + tool.definition;
  return all + "]";
}

RenderedChat render(const ServedModel& model, const ChatInput& input) {
  return naming(input.messages_param, [&] {
    return render_chat(model.model->vocabulary(), *model.chat_template, input.messages,
                       {.add_generation_prompt = input.add_generation_prompt,
                        .tools = tools_json(input),
                        .kwargs = merge_objects(model.template_kwargs, input.template_kwargs),
                        .continue_final_message = continues(input),
                        .write_calls = call_writer(model.syntax)});
  });
}

// Control tokens within the markers of the notation.
std::vector<TokenId> shown_tokens(const Tokenizer& tokenizer, const ReplyReading& reading) {
  std::vector<TokenId> shown;
  const ReplyParser parser(reading.syntax, reading.options);
  for (const std::string& marker : parser.markers())
    for (const TokenId id : tokenizer.encode(marker, {.add_special = false, .parse_special = true}))
      if (tokenizer.hidden(id)) shown.push_back(id);
  return shown;
}

// Throws ApiError that names the tool if its parameters cannot be enforced.
void check_parameters(const Tool& tool) {
  if (tool.parameters.empty()) return;
  naming(tool.param + ".parameters",
         [&] { return Grammar::from_json_schema(tool.parameters, JsonSchemaOptions::concise()); });
}

bool is_callable(const ToolChoice& choice, const Tool& tool) {
  return choice.kind != ChoiceKind::named || choice.name == tool.name;
}

std::vector<CallableTool> callable(const ChatInput& input) {
  std::vector<CallableTool> tools;
  for (const Tool& tool : input.tools) {
    if (is_callable(input.tool_choice, tool))
      tools.push_back({tool.name, tool.parameters});
    else
      check_parameters(tool);  // reply_grammar() checks the others
  }
  return tools;
}

// reply_grammar(), with errors that name the tool, or `param`.
std::shared_ptr<const Grammar> reply_grammar_of(const ServedModel& model, const ChatInput& input,
                                                const ReplySyntax& syntax,
                                                const ReplyGrammarOptions& options,
                                                const std::string& param) {
  return naming(param, [&] {
    try {
      return reply_grammar(syntax, model.model->tokenizer(), options);
    } catch (const Error&) {
      if (!options.tools.empty()) std::ranges::for_each(input.tools, check_parameters);
      throw;
    }
  });
}

// The calls of a free reply must be enforced, too: arguments that keep to their schema, or at most
// one call.
bool enforces_free_calls(const ChatInput& input) {
  return !input.parallel_calls || std::ranges::any_of(input.tools, &Tool::strict);
}

void set_grammar(const ServedModel& model, const ChatInput& input, ChatPrompt& chat) {
  const Constraint& constraint = input.constraint;
  if (constraint.kind == Constraint::Kind::gbnf) {
    if (must_call(input) || (may_call(input) && enforces_free_calls(input)))
      throw bad_request(constraint.param,
                        "a grammar for all that is generated cannot hold together with tools that "
                        "must be called, strict tools, or at most one call");
    chat.grammar = compile_constraint(model, constraint);
    return;
  }
  ReplyGrammarOptions options{.prompt = chat.reading.options.prompt,
                              .several_calls = input.parallel_calls,
                              .must_call = must_call(input),
                              .content = compile_constraint(model, constraint)};
  const bool free = !options.must_call && !options.content;
  ReplySyntax& syntax = chat.reading.syntax;
  if (may_call(input) && (options.must_call || !syntax.calls.empty())) {
    if (free && !enforces_free_calls(input)) return;
    if (syntax.calls.empty()) syntax.calls = "json";
    options.tools = callable(input);
    chat.reading.certain_calls = true;
  } else if (free) {
    return;
  }
  const std::string param = options.tools.empty() ? constraint.param : "tools";
  chat.grammar = reply_grammar_of(model, input, syntax, options, param);
}

}  // namespace

ChatPrompt prepare_chat(const ServedModel& model, const ChatInput& input) {
  if (!model.chat_template)
    throw not_supported(fmt::format("the model {} has no chat template", model.name));
  RenderedChat rendered = render(model, input);
  ChatPrompt chat;
  chat.tokens =
      naming(input.messages_param, [&] { return encode_chat(model.model->tokenizer(), rendered); });
  if (chat.tokens.empty()) throw bad_request(input.messages_param, "the prompt is empty");
  chat.text = std::move(rendered.text);
  chat.reading.syntax = model.syntax;
  chat.reading.short_ids = model.chat_template->for_tools().abilities().short_ids;
  if (model.reasoning == ReasoningFormat::none) chat.reading.syntax.reasoning.clear();
  chat.reading.options = {
      .prompt = chat.text.substr(chat.text.size() - std::min(chat.text.size(), kPromptEnd)),
      .tools = tools_json(input)};
  set_grammar(model, input, chat);
  chat.shown = shown_tokens(model.model->tokenizer(), chat.reading);
  return chat;
}

void apply(const ChatPrompt& chat, TextRequest& request) {
  request.generation.rules.grammar = chat.grammar;
  if (chat.shown.empty() || request.generation.decode.show_special) return;
  request.generation.shows_control = [shown = chat.shown](TokenId id) {
    return std::ranges::find(shown, id) != shown.end();
  };
}

}  // namespace weft::api

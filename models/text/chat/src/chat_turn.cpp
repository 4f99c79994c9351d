#include "weft/chat/chat_turn.h"

#include <algorithm>
#include <utility>

#include "weft/base/printable.h"
#include "weft/chat/encode_chat.h"
#include "weft/chat/place_error.h"
#include "weft/reply/call_writer.h"
#include "weft/reply/reply_grammar.h"

namespace weft {
namespace {

using ChoiceKind = ToolChoice::Kind;

// How much of the prompt's end is looked at for an open section of reasoning.
constexpr std::size_t kPromptEnd = 200;

// Whether the reply may have calls.
bool may_call(const ChatTurn& turn) {
  return !turn.tools.empty() && turn.tool_choice.kind != ChoiceKind::none;
}

bool must_call(const ChatTurn& turn) {
  return may_call(turn) && turn.tool_choice.kind != ChoiceKind::automatic;
}

// A choice that names a tool asks for one call of it.
bool several_calls(const ChatTurn& turn) {
  return turn.parallel_calls && turn.tool_choice.kind != ChoiceKind::named;
}

bool continues(const ChatTurn& turn) {
  return turn.continue_final_message && turn.messages.size() > 1 &&
         turn.messages.back().role == "assistant" && turn.messages.back().tool_calls.empty();
}

std::string shown_definitions(const ChatTurn& turn) {
  return may_call(turn) ? definitions_of(turn.tools) : "";
}

std::size_t n_calls(const std::vector<ChatMessage>& messages) {
  std::size_t n = 0;
  for (const ChatMessage& message : messages) n += message.tool_calls.size();
  return n;
}

RenderedChat render(const ChatFormat& format, const ChatTurn& turn) {
  return in_place(turn.messages_place, [&] {
    return render_chat(format.tokenizer->vocabulary(), *format.chat_template, turn.messages,
                       {.add_generation_prompt = turn.add_generation_prompt,
                        .tools = shown_definitions(turn),
                        .kwargs = turn.kwargs,
                        .continue_final_message = continues(turn),
                        .write_calls = call_writer(format.syntax)});
  });
}

// The longest beginning of what was computed that a text has, too.
ComputedText::End common_end(std::string_view text, const ComputedText& computed) {
  const auto differs = std::ranges::mismatch(text, computed.text).in1;
  const auto common = static_cast<std::size_t>(differs - text.begin());
  if (common == computed.text.size()) return {common, computed.tokens.size()};
  const auto after = std::ranges::upper_bound(computed.ends, common, {}, &ComputedText::End::text);
  return after == computed.ends.begin() ? ComputedText::End{} : *std::prev(after);
}

std::vector<TokenId> tokens_of(const Tokenizer& tokenizer, const RenderedChat& rendered,
                               const ComputedText& computed) {
  const ComputedText::End kept = common_end(rendered.text, computed);
  if (kept.text == 0) return encode_chat(tokenizer, rendered);
  const auto held = computed.tokens.first(kept.tokens);
  std::vector<TokenId> tokens(held.begin(), held.end());
  if (kept.text == rendered.text.size()) return tokens;
  const std::vector<TokenId> rest = encode_chat(tokenizer, rendered, kept.text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

// Control tokens within the markers of the notation.
std::vector<TokenId> shown_tokens(const Tokenizer& tokenizer, const ReplySyntax& syntax,
                                  const ReplyParserOptions& options) {
  std::vector<TokenId> shown;
  const ReplyParser parser(syntax, options);
  for (const std::string& marker : parser.markers())
    for (const TokenId id : tokenizer.encode(marker, {.add_special = false, .parse_special = true}))
      if (tokenizer.hidden(id)) shown.push_back(id);
  return shown;
}

// Throws an error that names the tool if its parameters cannot be enforced.
void check_parameters(const ChatTool& tool) {
  if (tool.parameters.empty()) return;
  in_place(tool.place.empty() ? "" : tool.place + ".parameters", [&] {
    return Grammar::from_json_schema(tool.parameters, JsonSchemaOptions::concise());
  });
}

std::vector<CallableTool> callable(const ChatTurn& turn) {
  std::vector<CallableTool> tools;
  for (const ChatTool& tool : turn.tools) {
    if (!is_tool_name(tool.name))
      fail_in(tool.place.empty() ? "" : tool.place + ".name",
              fmt::format("must have letters, digits and _ - . : / only, got \"{}\"",
                          printable(tool.name)));
    if (turn.tool_choice.kind != ChoiceKind::named || turn.tool_choice.name == tool.name)
      tools.push_back({tool.name, tool.parameters});
    else
      check_parameters(tool);  // reply_grammar() checks the others
  }
  return tools;
}

// reply_grammar(), with errors that name the tool, or the other part at fault.
std::shared_ptr<const Grammar> grammar_of(const ChatFormat& format, const ChatTurn& turn,
                                          const ReplySyntax& syntax,
                                          const ReplyGrammarOptions& options) {
  return in_place(options.tools.empty() ? turn.constraint.place : turn.tools_place, [&] {
    try {
      return reply_grammar(syntax, *format.tokenizer, options);
    } catch (const Error&) {
      if (!options.tools.empty()) std::ranges::for_each(turn.tools, check_parameters);
      throw;
    }
  });
}

// The calls of a free reply must be enforced, too: arguments that keep to their schema, or at most
// one call.
bool enforces_free_calls(const ChatTurn& turn) {
  return !turn.parallel_calls || std::ranges::any_of(turn.tools, &ChatTool::strict);
}

// A grammar for all that is generated.
std::shared_ptr<const Grammar> whole_grammar(const ChatFormat& format, const ChatTurn& turn) {
  const bool enforces = must_call(turn) || (may_call(turn) && enforces_free_calls(turn));
  if (enforces)
    fail_in(turn.constraint.place,
            "a grammar for all that is generated cannot hold together with tools that must be "
            "called, strict tools, or at most one call");
  return compile_constraint(turn.constraint, format.tokenizer->vocabulary());
}

void set_grammar(const ChatFormat& format, const ChatTurn& turn, ChatPlan& plan) {
  if (turn.constraint.kind == Constraint::Kind::gbnf) {
    plan.grammar = whole_grammar(format, turn);
    return;
  }
  ReplyGrammarOptions options{
      .prompt = plan.reading.options.prompt,
      .several_calls = several_calls(turn),
      .must_call = must_call(turn),
      .content = compile_constraint(turn.constraint, format.tokenizer->vocabulary())};
  const bool free = !options.must_call && !options.content;
  ReplySyntax& syntax = plan.reading.syntax;
  if (may_call(turn) && (options.must_call || !syntax.calls.empty())) {
    if (free && !enforces_free_calls(turn)) return;
    if (syntax.calls.empty()) syntax.calls = "json";
    options.tools = callable(turn);
    plan.reading.certain_calls = true;
    plan.reading.only_calls = options.must_call;
  } else if (free) {
    return;
  }
  plan.grammar = grammar_of(format, turn, syntax, options);
}

}  // namespace

ChatFormat chat_format(const Tokenizer& tokenizer,
                       std::shared_ptr<const ChatTemplate> chat_template) {
  ChatFormat format{.tokenizer = &tokenizer, .chat_template = std::move(chat_template)};
  if (format.chat_template) format.syntax = template_syntax(*format.chat_template).syntax;
  return format;
}

ChatFormat chat_format(const Tokenizer& tokenizer, const Vocabulary& vocabulary) {
  if (vocabulary.chat_template().empty()) return chat_format(tokenizer, nullptr);
  return chat_format(tokenizer,
                     make_chat_template(vocabulary.chat_template(), vocabulary.tool_template()));
}

std::vector<TokenId> prompt_tokens(const ChatFormat& format, const ChatTurn& turn) {
  if (!format.chat_template) fail<UnsupportedError>("the model has no chat template");
  return in_place(turn.messages_place,
                  [&] { return tokens_of(*format.tokenizer, render(format, turn), {}); });
}

ChatPlan plan_turn(const ChatFormat& format, const ChatTurn& turn, const ComputedText& computed) {
  if (!format.chat_template) fail<UnsupportedError>("the model has no chat template");
  check_tools(turn.tools, turn.tool_choice, turn.choice_place);
  RenderedChat rendered = render(format, turn);
  ChatPlan plan;
  plan.tokens = in_place(turn.messages_place, [&] {
    std::vector<TokenId> tokens = tokens_of(*format.tokenizer, rendered, computed);
    if (tokens.empty()) fail<ValueError>("the prompt is empty");
    return tokens;
  });
  plan.text = std::move(rendered.text);
  ReplyReading& reading = plan.reading;
  reading.syntax = format.syntax;
  reading.short_ids = format.chat_template->for_tools().abilities().short_ids;
  reading.options = {
      .prompt = plan.text.substr(plan.text.size() - std::min(plan.text.size(), kPromptEnd)),
      .tools = shown_definitions(turn)};
  reading.new_id = [n = n_calls(turn.messages)]() mutable {
    return fmt::format("call{:05}", n++);  // nine letters and digits, as some templates require
  };
  if (!turn.reasoning_apart.value_or(true)) reading.syntax.reasoning.clear();
  set_grammar(format, turn, plan);
  // The marks of reasoning are shown even if they are content.
  plan.shown = shown_tokens(*format.tokenizer, {format.syntax.reasoning, reading.syntax.calls},
                            reading.options);
  return plan;
}

}  // namespace weft

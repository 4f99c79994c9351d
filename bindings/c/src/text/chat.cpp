#include <utility>

#include "weft/serve/transcript.h"

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "text/chat_objects.h"
#include "text/constraints.h"

namespace weft::c_api {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// A built-in template by its name, or the text of one. A text that is neither would be a prompt
// without messages.
std::shared_ptr<const ChatTemplate> named_or_jinja(std::string_view text) {
  const bool is_jinja = text.find("{{") != text.npos || text.find("{%") != text.npos;
  if (is_jinja) return make_chat_template(text);
  checked_utf8(text, "chat_template");
  return make_named_chat_template(text);  // throws for unknown names
}

ChatFormat format_of(const ModelObject& model, const char* chat_template) {
  if (chat_template) return chat_format(model.text(), named_or_jinja(chat_template));
  ChatFormat format = chat_format(model.text(), *model.vocabulary);
  if (!format.chat_template)
    fail<UnsupportedError>(
        "{}: the model has no chat template (it may not be made for chats): give one", model.path);
  return format;
}

std::vector<ChatMessage> messages_of(const char* json) {
  const std::string_view text = required_text(json, "messages");
  const std::size_t begin = text.find_first_not_of(kSpace);
  // An object could have tools, too.
  if (begin != text.npos && text[begin] == '{')
    fail<FormatError>("messages: must be a JSON array, got an object");
  return parse_transcript(text, "messages").messages;
}

ChatTurn turn_of(const weft_chat_turn* given) {
  required(given, "turn");
  const auto t = read_options(given, weft_chat_turn{}, "weft_chat_turn");
  ChatTurn turn{
      .messages = messages_of(t.messages),
      .tools = tools_of(t.tools),
      .tool_choice = tool_choice_of(t.tool_choice),
      .parallel_calls = !is_set(t.single_call, "single_call"),
      .constraint = reply_constraint(t.constraint_kind, t.constraint),
      .kwargs = std::string(text_or(t.variables)),
      .add_generation_prompt = !is_set(t.without_generation_prompt, "without_generation_prompt"),
      .continue_final_message = !is_set(t.answer_final_message, "answer_final_message"),
      .reasoning_apart = !is_set(t.reasoning_in_content, "reasoning_in_content"),
      .messages_place = "messages",
      .choice_place = "tool_choice",
      .tools_place = "tools"};
  if (t.variables) check_kwargs(t.variables, "variables");
  return turn;
}

bool wants_early_calls(const weft_chat_turn* given) {
  return is_set(read_options(given, weft_chat_turn{}, "weft_chat_turn").early_calls, "early_calls");
}

}  // namespace

ToolChoice tool_choice_of(const char* text) {
  using Choice = ToolChoice::Kind;
  if (!text) return {};
  const std::string_view choice = checked_utf8(text, "tool_choice");
  if (choice == "auto") return {};
  if (choice == "none") return {.kind = Choice::none};
  if (choice == "required") return {.kind = Choice::required};
  return {.kind = Choice::named, .name = std::string(choice)};
}

std::vector<ChatTool> tools_of(const char* json) {
  if (!json) return {};
  if (!*json) fail<FormatError>("tools: must be a JSON array, got an empty text");
  return parse_tools(json, "tools");
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_chat_open(weft_model* model, const char* chat_template, weft_chat** chat,
                           weft_error** error) {
  return call(error, [&] {
    required(chat, "chat");
    auto m = pin<ModelObject>(model);
    ChatFormat format = format_of(*m, chat_template);
    *chat = handle_of<weft_chat>(std::make_shared<ChatObject>(std::move(m), std::move(format)));
  });
}

weft_status weft_chat_free(weft_chat* chat) {
  return free_handle<ChatObject>(chat);
}

weft_status weft_chat_turn_init(weft_chat_turn* turn, size_t size) {
  return call(nullptr, [&] { init_options(turn, size, weft_chat_turn{}, "weft_chat_turn"); });
}

weft_status weft_chat_templates_json(weft_text* json, weft_error** error) {
  return call(error, [&] { write_text(json, json_text(chat_template_names())); });
}

weft_status weft_template_render(const char* chat_template, const char* variables, weft_text* text,
                                 weft_error** error) {
  return call(error, [&] {
    required(text, "text");
    const auto made = named_or_jinja(required_text(chat_template, "chat_template"));
    write_text(text, made->render_arguments(required_text(variables, "variables")).text);
  });
}

weft_status weft_chat_render(weft_chat* chat, const weft_chat_turn* turn, weft_text* text,
                             weft_error** error) {
  return call(error, [&] {
    const auto c = pin<ChatObject>(chat);
    required(text, "text");
    write_text(text, plan_turn(c->format, turn_of(turn)).text);
  });
}

weft_status weft_chat_plan_open(weft_chat* chat, const weft_chat_turn* turn, weft_chat_plan** plan,
                                weft_error** error) {
  return call(error, [&] {
    required(plan, "plan");
    auto c = pin<ChatObject>(chat);
    ChatPlan made = plan_turn(c->format, turn_of(turn));
    made.reading.early_calls = wants_early_calls(turn);
    *plan =
        handle_of<weft_chat_plan>(std::make_shared<ChatPlanObject>(std::move(c), std::move(made)));
  });
}

weft_status weft_chat_plan_get_tokens(weft_chat_plan* plan, const weft_token** tokens, size_t* n,
                                      weft_error** error) {
  return call(error, [&] {
    const auto p = pin<ChatPlanObject>(plan);
    give(p->plan.tokens, tokens, n, "tokens", "n");
  });
}

weft_status weft_chat_plan_get_shown(weft_chat_plan* plan, const weft_token** tokens, size_t* n,
                                     weft_error** error) {
  return call(error, [&] {
    const auto p = pin<ChatPlanObject>(plan);
    give(p->plan.shown, tokens, n, "tokens", "n");
  });
}

weft_status weft_chat_plan_get_text(weft_chat_plan* plan, const char** text, size_t* size,
                                    weft_error** error) {
  return call(error, [&] {
    const auto p = pin<ChatPlanObject>(plan);
    give(p->plan.text, text, size, "text", "size");
  });
}

weft_status weft_chat_plan_get_grammar(weft_chat_plan* plan, weft_grammar** grammar,
                                       weft_error** error) {
  return call(error, [&] {
    const auto p = pin<ChatPlanObject>(plan);
    required(grammar, "grammar");
    *grammar = p->plan.grammar
                   ? handle_of<weft_grammar>(std::make_shared<GrammarObject>(p->plan.grammar))
                   : nullptr;
  });
}

weft_status weft_chat_plan_free(weft_chat_plan* plan) {
  return free_handle<ChatPlanObject>(plan);
}

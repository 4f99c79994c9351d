#include "weft/serve/conversation.h"

#include <span>
#include <utility>

#include "border/arguments.h"
#include "border/call.h"
#include "border/json.h"
#include "border/options.h"
#include "models/speculation.h"
#include "text/chat_objects.h"
#include "text/constraints.h"

namespace weft::c_api {
namespace {

static_assert(static_cast<int>(StopReason::none) == WEFT_STOP_NONE);
static_assert(static_cast<int>(StopReason::end_of_text) == WEFT_STOP_END_OF_TEXT);
static_assert(static_cast<int>(StopReason::stop_string) == WEFT_STOP_STRING);
static_assert(static_cast<int>(StopReason::complete) == WEFT_STOP_COMPLETE);
static_assert(static_cast<int>(StopReason::max_tokens) == WEFT_STOP_MAX_TOKENS);
static_assert(static_cast<int>(StopReason::max_time) == WEFT_STOP_MAX_TIME);
static_assert(static_cast<int>(StopReason::context_full) == WEFT_STOP_CONTEXT_FULL);
static_assert(static_cast<int>(StopReason::cancelled) == WEFT_STOP_CANCELLED);

struct ConversationObject : Object {
  static constexpr Kind kKind = Kind::conversation;
  ConversationObject(std::shared_ptr<SessionObject> of, std::int32_t sequence,
                     const ConversationOptions& options)
      : Object(kKind), session(std::move(of)), conversation(session->session, sequence, options) {}
  bool is_parents() const override { return session->is_parents(); }
  Conversation& inner() { return conversation; }

  const std::shared_ptr<SessionObject> session;
  Gate& gate = session->gate;
  Conversation conversation;  // between its calls, the sequence has no guesses
};

using UsedConversation = Used<ConversationObject>;

weft_conversation_options default_conversation_options() {
  return {.struct_size = sizeof(weft_conversation_options),
          .max_reply = ConversationOptions{}.max_reply};
}

std::shared_ptr<const ChatTemplate> template_of_chat(const weft_chat* handle,
                                                     const SessionObject& session) {
  if (!handle) return nullptr;
  const auto chat = pin<ChatObject>(handle);
  if (chat->model != session.model)
    fail<ValueError>("the chat belongs to another model than the session");
  return chat->format.chat_template;
}

ConversationOptions conversation_options(const weft_conversation_options* given,
                                         const UsedSession& session) {
  const auto o = read_options(given, default_conversation_options(), "weft_conversation_options");
  if (session->options().embeddings)
    fail<UnsupportedError>("the session computes embeddings, not logits");
  if (o.max_reply < -1) fail<ValueError>("max_reply must be -1 or more, got {}", o.max_reply);
  const Drafting drafting = drafting_by(o.speculation, *session.object());
  tools_of(o.tools);  // throws if they are malformed
  if (o.variables) check_kwargs(o.variables, "variables");
  ConversationOptions options{
      .chat_template = template_of_chat(o.chat, *session.object()),
      .system = std::string(checked_utf8(text_or(o.system), "system")),
      .tools = std::string(text_or(o.tools)),
      .tool_choice = tool_choice_of(o.tool_choice),
      .parallel_calls = !is_set(o.single_call, "single_call"),
      .kwargs = std::string(text_or(o.variables)),
      .constraint = reply_constraint(o.constraint_kind, o.constraint),
      .sampler = sampler_options(o.sampler, session->model().facts().n_vocab),
      .rules = {.stops = strings_of(o.stops, o.n_stops, "stops")},
      .max_reply = o.max_reply,
      .draft = drafting.draft,
      .max_guesses = drafting.max_guesses,
      .cancel = &session.cancelled()};
  // Otherwise no reply has a grammar.
  if (o.tools || options.constraint.kind != Constraint::Kind::none)
    options.rules.tree = session.object()->model->tree();
  return options;
}

Conversation::Show show_by(const UsedConversation& c, weft_on_reply on_reply, void* user) {
  return [=, cancelled = &c.cancelled()](const ReplyEvent& event) {
    if (!pass_on(event, on_reply, user)) *cancelled = true;
  };
}

std::string calls_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& c : calls)
    list.push_back({{"id", c.id}, {"name", c.name}, {"arguments", c.arguments}});
  return json_text(list);
}

}  // namespace
}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

weft_status weft_conversation_options_init(weft_conversation_options* options, size_t size) {
  return call(nullptr, [&] {
    init_options(options, size, default_conversation_options(), "weft_conversation_options");
  });
}

weft_status weft_conversation_open(weft_session* session, int32_t sequence,
                                   const weft_conversation_options* options,
                                   weft_conversation** conversation, weft_error** error) {
  return call(error, [&] {
    required(conversation, "conversation");
    const UsedSession s(session);
    *conversation = handle_of<weft_conversation>(std::make_shared<ConversationObject>(
        s.object(), sequence, conversation_options(options, s)));
  });
}

weft_status weft_conversation_say(weft_conversation* conversation, const char* message, size_t size,
                                  const char* prefill, weft_on_reply on_reply, void* user,
                                  int32_t* stop, weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    required(stop, "stop");
    const std::string_view said = checked_utf8(text(message, size, "message"), "message");
    const std::string_view begin = checked_utf8(text_or(prefill), "prefill");
    *stop = static_cast<std::int32_t>(
        c->say(std::string(said), show_by(c, on_reply, user), std::string(begin)));
  });
}

weft_status weft_conversation_answer_call(weft_conversation* conversation, const char* result,
                                          size_t size, weft_on_reply on_reply, void* user,
                                          int32_t* stop, weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    required(stop, "stop");
    const std::string_view answer = checked_utf8(text(result, size, "result"), "result");
    if (c->open_calls().empty()) fail<ValueError>("no call of the last reply waits for a result");
    *stop =
        static_cast<std::int32_t>(c->answer_call(std::string(answer), show_by(c, on_reply, user)));
  });
}

weft_status weft_conversation_open_calls_json(weft_conversation* conversation, weft_text* json,
                                              weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    write_text(json, calls_json(c->open_calls()));
  });
}

weft_status weft_conversation_messages_json(weft_conversation* conversation, weft_text* json,
                                            weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    write_text(json, to_json(std::span(c->messages())));
  });
}

weft_status weft_conversation_undo_turn(weft_conversation* conversation, weft_text* message,
                                        weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    required(message, "message");
    write_text(message, c->undo_turn());
  });
}

weft_status weft_conversation_reset(weft_conversation* conversation, weft_error** error) {
  return call(error, [&] { UsedConversation(conversation)->reset(); });
}

weft_status weft_conversation_set_system(weft_conversation* conversation, const char* system,
                                         weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    c->set_system(std::string(checked_utf8(text_or(system), "system")));
  });
}

weft_status weft_conversation_save(weft_conversation* conversation, const char* path,
                                   weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    c->save(std::string(required_text(path, "path")));
  });
}

weft_status weft_conversation_load(weft_conversation* conversation, const char* path,
                                   int64_t* n_cached, weft_error** error) {
  return call(error, [&] {
    const UsedConversation c(conversation);
    const auto loaded = c->load(std::string(required_text(path, "path")));
    if (n_cached) *n_cached = loaded.n_cached;
  });
}

weft_status weft_conversation_free(weft_conversation* conversation) {
  return free_handle<ConversationObject>(conversation);
}

// Constraints, chats and replies.
#include <memory>
#include <optional>

#include "native.h"

namespace weft_python {
namespace {

struct Constraint : Handle<weft_constraint, weft_constraint_free> {
  Constraint() : Handle("constraint") {}
};
struct Chat : Handle<weft_chat, weft_chat_free> {
  Chat() : Handle("chat") {}
};
struct Reply : Handle<weft_reply, weft_reply_free> {
  Reply() : Handle("reply") {}
};

std::unique_ptr<Constraint> open_constraint(const Grammar& grammar, const Model& model) {
  auto constraint = std::make_unique<Constraint>();
  weft_grammar* const rules = grammar.get();
  weft_model* const of = model.get();
  call([&](weft_error** error) {
    return weft_constraint_open(rules, of, constraint->out(), error);
  });
  return constraint;
}

// Sets the logits of tokens that may not come next to -inf, in the array.
void apply_constraint(const Constraint& constraint,
                      py::array_t<float, py::array::c_style>& logits) {
  float* const data = logits.mutable_data();
  const auto n = static_cast<std::size_t>(logits.size());
  weft_constraint* const handle = constraint.get();
  call([&](weft_error** error) { return weft_constraint_apply(handle, data, n, error); });
}

void accept_token(const Constraint& constraint, weft_token token) {
  weft_constraint* const handle = constraint.get();
  call([&](weft_error** error) { return weft_constraint_accept(handle, token, error); });
}

// Whether the text may end here, and whether more may follow.
std::pair<bool, bool> state_of(const Constraint& constraint) {
  std::int32_t may_end = 0, may_continue = 0;
  weft_constraint* const handle = constraint.get();
  call([&](weft_error** error) {
    return weft_constraint_get_state(handle, &may_end, &may_continue, error);
  });
  return {may_end != 0, may_continue != 0};
}

std::unique_ptr<Chat> open_chat(const Model& model, const std::optional<std::string>& text) {
  auto chat = std::make_unique<Chat>();
  weft_model* const of = model.get();
  call([&](weft_error** error) {
    return weft_chat_open(of, text ? text->c_str() : nullptr, chat->out(), error);
  });
  return chat;
}

std::unique_ptr<ChatPlan> open_plan(const Chat& chat, const py::dict& given) {
  auto plan = std::make_unique<ChatPlan>();
  weft_chat_turn turn;
  weft_chat_turn_init(&turn, sizeof turn);
  Options reader(given);
  reader.take("messages", turn.messages).take("tools", turn.tools);
  reader.take("tool_choice", turn.tool_choice).take("variables", turn.variables);
  reader.take("constraint", turn.constraint).take("constraint_kind", turn.constraint_kind);
  reader.take("single_call", turn.single_call).take("early_calls", turn.early_calls);
  reader.take("reasoning_in_content", turn.reasoning_in_content);
  reader.take("answer_final_message", turn.answer_final_message);
  reader.finish("plan()");
  weft_chat* const handle = chat.get();
  call([&](weft_error** error) { return weft_chat_plan_open(handle, &turn, plan->out(), error); });
  return plan;
}

template <weft_status (*Get)(weft_chat_plan*, const weft_token**, std::size_t*, weft_error**)>
std::vector<weft_token> ids_of_plan(const ChatPlan& plan) {
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  weft_chat_plan* const handle = plan.get();
  call([&](weft_error** error) { return Get(handle, &tokens, &n, error); });
  return {tokens, tokens + n};
}

std::unique_ptr<Grammar> grammar_of_plan(const ChatPlan& plan) {
  auto grammar = std::make_unique<Grammar>();
  weft_chat_plan* const handle = plan.get();
  call([&](weft_error** error) {
    return weft_chat_plan_get_grammar(handle, grammar->out(), error);
  });
  return grammar->closed() ? nullptr : std::move(grammar);
}

std::unique_ptr<Reply> open_reply(const ChatPlan& plan) {
  auto reply = std::make_unique<Reply>();
  weft_chat_plan* const handle = plan.get();
  call([&](weft_error** error) { return weft_reply_open(handle, reply->out(), error); });
  return reply;
}

// Events as (kind, text, call, id).
std::int32_t keep_event(void* user, const weft_reply_event* event) {
  return in_python<std::int32_t>(1, [&] {
    py::list(py::reinterpret_borrow<py::list>(static_cast<PyObject*>(user)))
        .append(py::make_tuple(event->kind, py::str(event->text, event->text_size), event->call,
                               py::str(event->id)));
    return 0;
  });
}

// `truncated`: a limit or the caller ended the reply, not the model.
py::list push_text(const Reply& reply, const py::handle& text, bool finish_it, bool truncated) {
  const py::list events;
  const std::string bytes = bytes_of(text, "text");
  weft_reply* const handle = reply.get();
  call([&](weft_error** error) {
    return weft_reply_push(handle, bytes.data(), bytes.size(), keep_event, events.ptr(), error);
  });
  if (finish_it)
    call([&](weft_error** error) {
      const std::int32_t stop = truncated ? WEFT_STOP_NONE : WEFT_STOP_END_OF_TEXT;
      return weft_reply_end(handle, stop, keep_event, events.ptr(), error);
    });
  return events;
}

py::str message_of(const Reply& reply) {
  Text json;
  weft_reply* const handle = reply.get();
  call([&](weft_error** error) { return weft_reply_message_json(handle, json.out(), error); });
  return json.str();
}

py::str render_template(const std::string& text, const std::string& variables) {
  Text result;
  call([&](weft_error** error) {
    return weft_template_render(text.c_str(), variables.c_str(), result.out(), error);
  });
  return result.str();
}

}  // namespace

void add_chats(py::module_& m) {
  py::class_<Constraint>(m, "Constraint")
      .def_static("open", &open_constraint)
      .def("apply", &apply_constraint)
      .def("accept", &accept_token)
      .def("state", &state_of);
  py::class_<Chat>(m, "Chat").def_static("open", &open_chat);
  py::class_<ChatPlan>(m, "ChatPlan")
      .def_static("open", &open_plan)
      .def("tokens", &ids_of_plan<weft_chat_plan_get_tokens>)
      .def("shown", &ids_of_plan<weft_chat_plan_get_shown>)
      .def("grammar", &grammar_of_plan);
  py::class_<Reply>(m, "Reply")
      .def_static("open", &open_reply)
      .def("push", &push_text, py::arg("text"), py::arg("finish"), py::arg("truncated") = false)
      .def("message_json", &message_of);
  m.def("render_template", &render_template);
  m.def("chat_templates_json", [] {
    Text json;
    call([&](weft_error** error) { return weft_chat_templates_json(json.out(), error); });
    return json.str();
  });
}

}  // namespace weft_python

// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
// Functions of the C API that need no code of their own.
#include "classes.h"

namespace weft_python {
namespace {

std::unique_ptr<Chat> chat_open(const Model& model, const py::handle& chat_template) {
  const auto c_chat_template = optional_c_text_of(chat_template, "chat_template");
  weft_model* const c_model = model.get();
  auto chat = std::make_unique<Chat>();
  call([&](weft_error** error) {
    return weft_chat_open(c_model, c_str_of(c_chat_template), chat->out(), error);
  });
  return chat;
}

py::str chat_templates_json() {
  Text json;
  call([&](weft_error** error) { return weft_chat_templates_json(json.out(), error); });
  return json.str();
}

py::str template_render(const py::handle& chat_template, const py::handle& variables) {
  const auto c_chat_template = c_text_of(chat_template, "chat_template");
  const auto c_variables = c_text_of(variables, "variables");
  Text text;
  call([&](weft_error** error) {
    return weft_template_render(c_chat_template.c_str(), c_variables.c_str(), text.out(), error);
  });
  return text.str();
}

std::vector<weft_token> chat_plan_get_tokens(const ChatPlan& plan) {
  weft_chat_plan* const c_plan = plan.get();
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  call_with_gil(
      [&](weft_error** error) { return weft_chat_plan_get_tokens(c_plan, &tokens, &n, error); });
  return std::vector<weft_token>(tokens, tokens + n);
}

std::vector<weft_token> chat_plan_get_shown(const ChatPlan& plan) {
  weft_chat_plan* const c_plan = plan.get();
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  call_with_gil(
      [&](weft_error** error) { return weft_chat_plan_get_shown(c_plan, &tokens, &n, error); });
  return std::vector<weft_token>(tokens, tokens + n);
}

py::str chat_plan_get_text(const ChatPlan& plan) {
  weft_chat_plan* const c_plan = plan.get();
  const char* text = nullptr;
  std::size_t size = 0;
  call_with_gil(
      [&](weft_error** error) { return weft_chat_plan_get_text(c_plan, &text, &size, error); });
  return text_of(text, size);
}

std::unique_ptr<Grammar> chat_plan_get_grammar(const ChatPlan& plan) {
  weft_chat_plan* const c_plan = plan.get();
  auto grammar = std::make_unique<Grammar>();
  call([&](weft_error** error) {
    return weft_chat_plan_get_grammar(c_plan, grammar->out(), error);
  });
  return grammar->closed() ? nullptr : std::move(grammar);
}

std::unique_ptr<Reply> reply_open(const ChatPlan& plan) {
  weft_chat_plan* const c_plan = plan.get();
  auto reply = std::make_unique<Reply>();
  call([&](weft_error** error) { return weft_reply_open(c_plan, reply->out(), error); });
  return reply;
}

py::str reply_message_json(const Reply& reply) {
  weft_reply* const c_reply = reply.get();
  Text json;
  call([&](weft_error** error) { return weft_reply_message_json(c_reply, json.out(), error); });
  return json.str();
}

void embedder_cancel(const Embedder& embedder) {
  weft_embedder* const c_embedder = embedder.get();
  weft_embedder_cancel(c_embedder);
}

}  // namespace

void add_forwards_of_chats(py::module_& m) {
  py::class_<Chat>(m.attr("Chat")).def_static("open", &chat_open);
  m.def("chat_templates_json", &chat_templates_json);
  m.def("render_template", &template_render);
  py::class_<ChatPlan>(m.attr("ChatPlan"))
      .def("tokens", &chat_plan_get_tokens)
      .def("shown", &chat_plan_get_shown)
      .def("text", &chat_plan_get_text)
      .def("grammar", &chat_plan_get_grammar);
  py::class_<Reply>(m.attr("Reply"))
      .def_static("open", &reply_open)
      .def("message_json", &reply_message_json);
  py::class_<Embedder>(m.attr("Embedder")).def("cancel", &embedder_cancel);
}

}  // namespace weft_python

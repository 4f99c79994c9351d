// Constraints, chats and replies.
#include <memory>

#include "classes.h"

namespace weft_python {
namespace {

// Sets the logits of tokens that may not come next to -inf, in the array.
void apply_constraint(const Constraint& constraint,
                      py::array_t<float, py::array::c_style>& logits) {
  float* const data = logits.mutable_data();
  const auto n = static_cast<std::size_t>(logits.size());
  weft_constraint* const handle = constraint.get();
  call([&](weft_error** error) { return weft_constraint_apply(handle, data, n, error); });
}

std::unique_ptr<ChatPlan> open_plan(const Chat& chat, const py::dict& given) {
  auto plan = std::make_unique<ChatPlan>();
  weft_chat_turn turn;
  weft_chat_turn_init(&turn, sizeof turn);
  Options reader(given);
  take_members(reader, turn);
  reader.finish("plan()");
  weft_chat* const handle = chat.get();
  call([&](weft_error** error) { return weft_chat_plan_open(handle, &turn, plan->out(), error); });
  return plan;
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

}  // namespace

void add_chats(py::module_& m) {
  py::class_<Constraint>(m.attr("Constraint")).def("apply", &apply_constraint);
  py::class_<ChatPlan>(m.attr("ChatPlan")).def_static("open", &open_plan);
  py::class_<Reply>(m.attr("Reply"))
      .def("push", &push_text, py::arg("text"), py::arg("finish"), py::arg("truncated") = false);
}

}  // namespace weft_python

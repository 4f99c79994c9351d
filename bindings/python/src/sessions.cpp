// Sessions and their sequences.
#include <algorithm>
#include <memory>

#include "classes.h"

namespace weft_python {
namespace {

// Floats [shape] in the memory of a session, which they keep.
py::array_t<float> rows_of(const Session& session, float* data, std::vector<py::ssize_t> shape) {
  weft_session* shared = nullptr;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_share(handle, &shared, error); });
  const py::capsule keeps(
      shared, [](void* freed) { weft_session_free(static_cast<weft_session*>(freed)); });
  return py::array_t<float>(std::move(shape), data, keeps);
}

struct SessionOptions {
  explicit SessionOptions(const py::dict& given) : reader(given) {
    weft_session_options& o = options;
    weft_session_options_init(&o, sizeof o);
    o.poll = poll_signals;
    progress = py::reinterpret_borrow<py::object>(reader.find("progress"));
    if (progress && !progress.is_none()) {
      o.progress = call_progress;
      o.progress_user = progress.ptr();
    }
    take_members(reader, o);
    reader.finish("Session()");
  }
  weft_session_options options{};
  Options reader;
  py::object progress;
};

py::ssize_t row_width(const Session& session) {
  weft_session_info i{};
  i.struct_size = sizeof i;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_get_info(handle, &i, error); });
  return static_cast<py::ssize_t>(i.row_width);
}

py::array_t<float> logits(const Session& session) {
  float* data = nullptr;
  std::size_t n = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) { return weft_session_get_logits(handle, &data, &n, error); });
  return rows_of(session, data, {static_cast<py::ssize_t>(n)});
}

void feed_ids(const Session& session, std::int32_t sequence, const py::handle& ids) {
  const auto tokens = ids_of(ids);
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_feed(handle, sequence, tokens.data(), tokens.size(), nullptr, nullptr,
                             error);
  });
}

// One step, with a row for every token.
py::array_t<float> step(const Session& session, std::int32_t sequence, const py::handle& ids) {
  std::vector<weft_step_token> tokens;
  for (const weft_token id : ids_of(ids)) tokens.push_back({id, sequence, 1, 0});
  float* rows = nullptr;
  std::size_t n_rows = 0;
  weft_session* const handle = session.get();
  call([&](weft_error** error) {
    return weft_session_step(handle, tokens.data(), tokens.size(), &rows, &n_rows, error);
  });
  return rows_of(session, rows, {static_cast<py::ssize_t>(n_rows), row_width(session)});
}

// The ids that a sequence holds.
std::vector<weft_token> tokens_of(const Session& session, std::int32_t sequence) {
  weft_session* const handle = session.get();
  weft_session* shared = nullptr;  // stays if another thread closes the session
  call([&](weft_error** error) { return weft_session_share(handle, &shared, error); });
  const std::unique_ptr<weft_session, decltype(&weft_session_free)> keeps(shared,
                                                                          &weft_session_free);
  const weft_token* tokens = nullptr;
  std::size_t n = 0;
  call([&](weft_error** error) {
    return weft_session_get_tokens(shared, sequence, &tokens, &n, error);
  });
  return {tokens, tokens + n};
}

}  // namespace

std::shared_ptr<const weft_session_options> session_options(const py::dict& given) {
  const auto all = std::make_shared<const SessionOptions>(given);
  return {all, &all->options};
}

void add_sessions(py::module_& m) {
  py::class_<Session>(m.attr("Session"))
      .def_property_readonly("closed", &Session::closed)
      .def("feed", &feed_ids)
      .def("step", &step)
      .def("logits", &logits)
      .def("tokens", &tokens_of);
}

}  // namespace weft_python

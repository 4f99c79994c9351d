#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "classes.h"

namespace weft_python {
namespace {

// Classes by the names of statuses; never destroyed, as the interpreter may be gone.
py::dict& errors() {
  static auto* const all = new py::dict;
  return *all;
}

struct Kept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};
thread_local Kept kept;

// Exceptions of callbacks on other threads with their messages, the last few. Never destroyed.
std::deque<std::pair<std::string, py::object>>& remembered() {
  static auto* const all = new std::deque<std::pair<std::string, py::object>>;
  return *all;
}

// The longest message that is part of this one: "ValueError: a" is part of "ValueError: ab".
void raise_remembered(std::string_view message) {
  auto& all = remembered();
  auto found = all.end();
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (message.find(it->first) == std::string_view::npos) continue;
    if (found == all.end() || it->first.size() >= found->first.size()) found = it;
  }
  if (found == all.end()) return;
  const py::object exception = std::move(found->second);
  all.erase(found);
  PyErr_SetObject(py::type::of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

void raise_kept() {
  const Kept now = std::exchange(kept, {});
  PyErr_Restore(now.type, now.value, now.trace);
  throw py::error_already_set();
}

}  // namespace

void set_errors(const py::dict& by_status) {
  errors() = by_status;
}

void raise(const char* status, const std::string& message) {
  const py::object kind = errors()[status];
  PyErr_SetObject(kind.ptr(), py::str(message).ptr());
  throw py::error_already_set();
}

py::object exception_of(weft_status status, const std::string& message) {
  return errors()[weft_status_name(status)](message);
}

void keep_exception() {
  if (kept.type) {  // the first one counts
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&kept.type, &kept.value, &kept.trace);
}

KeptAside::KeptAside() : type_(kept.type), value_(kept.value), trace_(kept.trace) {
  kept = {};
}

KeptAside::~KeptAside() {
  if (!type_) return;
  Py_XDECREF(kept.type);
  Py_XDECREF(kept.value);
  Py_XDECREF(kept.trace);
  kept = {type_, value_, trace_};
}

std::string remember_exception(py::error_already_set& e) {
  constexpr std::size_t kMaxRemembered = 8;
  const std::string kind = py::cast<std::string>(e.type().attr("__name__"));
  const std::string message = kind + ": " + std::string(py::str(e.value()));
  py::object exception = e.value();
  if (e.trace()) PyException_SetTraceback(exception.ptr(), e.trace().ptr());
  remembered().emplace_back(message, std::move(exception));
  if (remembered().size() > kMaxRemembered) remembered().pop_front();
  return message;
}

void finish(weft_status status, weft_error* error) {
  if (running_calls == 0 && status == WEFT_SUCCESS) remembered().clear();
  if (status == WEFT_SUCCESS && !error && !kept.type) return;
  const std::string message = weft_error_message(error);
  const std::int32_t os_error = weft_error_os_error(error);
  weft_error_free(error);
  if (kept.type) raise_kept();
  if (status == WEFT_SUCCESS) return;
  if (status == WEFT_ERROR_CALLBACK) raise_remembered(message);
  const py::object raised = exception_of(status, message);
  if (status == WEFT_ERROR_IO) raised.attr("errno") = os_error;
  PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
  throw py::error_already_set();
}

std::int32_t poll_signals(void*) {
  if (!is_main_thread()) return 0;
  const CallbackScope scope;
  if (!scope) return 1;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return 0;
  keep_exception();
  return 1;
}

void call_watched(const std::function<weft_status(weft_canceller*, weft_error**)>& f) {
  if (!is_main_thread()) return call([&](weft_error** error) { return f(nullptr, error); });
  weft_canceller* canceller = nullptr;
  call([&](weft_error** error) { return weft_canceller_open(&canceller, error); });
  weft_error* error = nullptr;
  weft_status status = WEFT_SUCCESS;
  Kept raised;
  without_gil([&] {
    std::promise<void> done;
    const std::future<void> ended = done.get_future();
    std::thread worker([&] {
      status = f(canceller, &error);
      raised = std::exchange(kept, {});
      done.set_value();
    });
    while (ended.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
      if (poll_signals(nullptr) != 0) weft_canceller_cancel(canceller);
    }
    worker.join();
    weft_canceller_free(canceller);
  });
  if (raised.type && !kept.type) kept = std::exchange(raised, {});
  Py_XDECREF(raised.type);
  Py_XDECREF(raised.value);
  Py_XDECREF(raised.trace);
  finish(status, error);
}

std::int32_t call_progress(void* user, double share) {
  if (kept.type || poll_signals(nullptr) != 0) return 1;
  if (!user) return 0;
  return in_python<std::int32_t>(1, [&] {
    const py::object result = py::handle(static_cast<PyObject*>(user))(share);
    return result.ptr() == Py_False ? 1 : 0;
  });
}

std::int32_t call_token_progress(void* user, std::int64_t done, std::int64_t total) {
  if (!user) return 0;
  return in_python<std::int32_t>(1, [&] {
    const py::object result = py::handle(static_cast<PyObject*>(user))(done, total);
    return result.ptr() == Py_False ? 1 : 0;
  });
}

void* user_of(const py::object& callable) {
  return callable.is_none() ? nullptr : callable.ptr();
}

std::int64_t integer_of(const py::handle& value, const std::string& name) {
  if (!PyIndex_Check(value.ptr()))
    throw py::type_error(name + " must be an integer, not " + Py_TYPE(value.ptr())->tp_name);
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) throw py::error_already_set();
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow) raise("argument", name + " is out of range");
  return number;
}

double number_of(const py::handle& value, const std::string& name) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw py::type_error(name + " must be a number, not " + Py_TYPE(value.ptr())->tp_name);
  }
  return number;
}

std::string bytes_of(const py::handle& text, const char* name) {
  if (py::isinstance<py::str>(text)) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) throw py::error_already_set();
    return {data, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(text.ptr()) || PyByteArray_Check(text.ptr()) ||
      PyMemoryView_Check(text.ptr())) {
    const py::bytes all(py::reinterpret_steal<py::object>(PyBytes_FromObject(text.ptr())));
    return std::string(all);
  }
  throw py::type_error(std::string(name) + " must be str or bytes, not " +
                       Py_TYPE(text.ptr())->tp_name);
}

py::str text_of(const char* text, std::size_t size) {
  auto decoded = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "replace"));
  if (!decoded) throw py::error_already_set();
  return decoded;
}

py::str text_of(const char* text) {
  return text_of(text, std::strlen(text));
}

py::object optional_text_of(const char* text) {
  return text ? py::object(text_of(text)) : py::object(py::none());
}

std::string c_text_of(const py::handle& text, const char* name) {
  std::string bytes = bytes_of(text, name);
  if (bytes.find('\0') != std::string::npos)
    raise("argument", std::string(name) + " must not contain NUL");
  return bytes;
}

std::optional<std::string> optional_c_text_of(const py::handle& text, const char* name) {
  if (text.is_none()) return std::nullopt;
  return c_text_of(text, name);
}

weft_token id_of(std::int64_t number) {
  if (!std::in_range<weft_token>(number))
    raise("argument", "token " + std::to_string(number) + " is not in the vocabulary");
  return static_cast<weft_token>(number);
}

namespace {

std::vector<weft_token> ids_of_array(const py::handle& given) {
  const auto array = py::array::ensure(given);
  if (!array) throw py::error_already_set();
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u')
    throw py::type_error("ids must be integers, not an array of " +
                         std::string(py::str(array.dtype())));
  if (array.ndim() != 1)
    raise("argument", "ids must have one dimension, not " + std::to_string(array.ndim()));
  const auto wide = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>(array);
  std::vector<weft_token> ids;
  for (py::ssize_t i = 0; i < wide.shape(0); ++i) ids.push_back(id_of(wide.at(i)));
  return ids;
}

}  // namespace

Numbers::Numbers(const py::handle& given, const char* name)
    : array_(decltype(array_)::ensure(given)) {
  if (!array_) {
    PyErr_Clear();
    throw py::type_error(std::string(name) + " must be an array of numbers");
  }
  if (array_.ndim() != 1)
    raise("shape",
          std::string(name) + " must have one dimension, not " + std::to_string(array_.ndim()));
}

std::vector<weft_token> ids_of(const py::handle& ids) {
  if (PyUnicode_Check(ids.ptr()) || PyBytes_Check(ids.ptr()) || PyByteArray_Check(ids.ptr()))
    throw py::type_error(std::string("ids must be a sequence of integers, not ") +
                         Py_TYPE(ids.ptr())->tp_name);
  if (PyObject_CheckBuffer(ids.ptr())) return ids_of_array(ids);
  if (!PySequence_Check(ids.ptr()))
    throw py::type_error(std::string("ids must be a sequence of integers, not ") +
                         Py_TYPE(ids.ptr())->tp_name);
  // A copy, as __index__ of an item may change a list.
  const auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(ids.ptr()));
  if (!items) throw py::error_already_set();
  std::vector<weft_token> all;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
  all.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    all.push_back(id_of(integer_of(PyTuple_GET_ITEM(items.ptr(), i), "an id")));
  return all;
}

py::handle Options::find(const char* name) {
  taken_.insert(name);
  return given_.contains(name) ? py::handle(given_[name]) : py::handle();
}

void Options::finish(const char* function) const {
  for (const auto& [key, value] : given_) {
    const auto name = py::cast<std::string>(key);
    if (taken_.contains(name)) continue;
    std::string known;
    for (const std::string& one : taken_) known += (known.empty() ? "" : ", ") + one;
    throw py::type_error(std::string(function) + " got an unexpected keyword argument '" + name +
                         "'; it has " + known);
  }
}

void Options::refuse_range(const char* name, std::int64_t number) {
  raise("argument", std::string(name) + " is out of range: " + std::to_string(number));
}

}  // namespace weft_python

PYBIND11_MODULE(_weft, m) {
  using namespace weft_python;
  add_constants(m);
  add_classes(m);
  m.def("set_errors", &set_errors);
  m.def("begin_exit", &begin_exit);
  m.def("set_main_thread", &set_main_thread);
  m.def("ids", [](const py::handle& ids) { return ids_of(ids); });
  add_models(m);
  add_sessions(m);
  add_samplers(m);
  add_speculations(m);
  add_generations(m);
  add_chats(m);
  add_graphs(m);
  add_architectures(m);
  add_custom_ops(m);
  add_embedders(m);
  add_forwards_of_models(m);
  add_forwards_of_sessions(m);
  add_forwards_of_generations(m);
  add_forwards_of_chats(m);
  add_forwards_of_graphs(m);
  add_forwards_of_architectures(m);
}

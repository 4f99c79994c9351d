#pragma once
// What all sources of the module share: calls of the C API, errors, options, ids.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "weft/weft.h"

namespace weft_python {

namespace py = pybind11;

// ---- errors

// Raises the exception of a status (weft/_errors.py) with the message, and frees the error; or what
// a callback of this call raised. Returns for WEFT_SUCCESS.
void finish(weft_status status, weft_error* error);
// Keeps the exception that is set, which finish() raises when the call has returned.
void keep_exception();
// While it lives, what is kept is aside: calls that a callback makes do not raise it. The first
// exception stays.
class KeptAside {
 public:
  KeptAside();
  KeptAside(const KeptAside&) = delete;
  KeptAside& operator=(const KeptAside&) = delete;
  ~KeptAside();

 private:
  PyObject *type_, *value_, *trace_;
};
// For callbacks on threads of the library: remembers the exception, which finish() raises for an
// error with this message.
std::string remember_exception(py::error_already_set& e);
// For `poll`: lets Python's handlers of signals run, on the main thread. 1: one raised.
std::int32_t poll_signals(void*);
// For `progress`: calls the callable `user`, unless it is null, with a share from 0 to 1. 1: it
// said False, or a signal ended the call.
std::int32_t call_progress(void* user, double share);
// The same with numbers of tokens, for calls that look for signals themselves.
std::int32_t call_token_progress(void* user, std::int64_t done, std::int64_t total);
// The callable of a call as the `user` of its callbacks; null for None.
void* user_of(const py::object& callable);
// The exception of a status, which is not WEFT_SUCCESS.
py::object exception_of(weft_status status, const std::string& message);
void set_errors(const py::dict& by_status);
[[noreturn]] void raise(const char* status, const std::string& message);

// ---- the interpreter

// For Python's atexit: from now on, callbacks on other threads fail, and these threads do not come
// back to Python. Waits for the callbacks that run, for a second at most.
void begin_exit();
void set_main_thread(std::uint64_t ident);  // at import, and in the child of a fork
bool is_main_thread();
bool is_finalizing();  // after Python's atexit
// Whether this thread may not ask for the GIL any more, which would end it in the middle of C++.
bool is_ending();
// With the GIL again; a thread that may not ask for it stays here.
void come_back(PyThreadState* state);

// While it lives, begin_exit() waits. False: the callback must fail at once.
class CallbackScope {
 public:
  CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope();
  explicit operator bool() const { return runs_; }

 private:
  bool runs_;
};

// f() without the GIL.
template <class F>
void without_gil(F&& f) {
  if (is_finalizing()) return f();  // this thread ends the interpreter
  PyThreadState* const state = PyEval_SaveThread();
  f();
  come_back(state);
}

// Calls of the C API that run; exceptions that none of them can raise are forgotten.
inline std::atomic<int> running_calls{0};

// Calls a function of the C API without the GIL.
template <class F>
void call(F&& f) {
  weft_error* error = nullptr;
  weft_status status = WEFT_SUCCESS;
  ++running_calls;
  without_gil([&] { status = f(&error); });
  --running_calls;
  finish(status, error);
}

// The same with the GIL, for short calls that lend memory until the next one.
template <class F>
void call_with_gil(F&& f) {
  weft_error* error = nullptr;
  ++running_calls;
  const weft_status status = f(&error);
  --running_calls;
  finish(status, error);
}

// The same for functions that take a canceller, and do not look for signals themselves: on another
// thread, while this one waits for Ctrl-C.
void call_watched(const std::function<weft_status(weft_canceller*, weft_error**)>& f);

// A callback of the C API in Python: what it raises leaves the call. `failed` is the result then.
template <class T, class F>
T in_python(T failed, F&& f) {
  const CallbackScope scope;
  if (!scope) return failed;
  const py::gil_scoped_acquire gil;
  const KeptAside aside;
  try {
    return f();
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  keep_exception();
  return failed;
}

// ---- objects

// A text as an argument of a template.
template <std::size_t N>
struct Literal {
  constexpr Literal(const char (&given)[N]) { std::copy_n(given, N, text); }
  char text[N];
};

// A handle, which close() frees. Messages call it `kNoun`.
template <class T, weft_status (*Free)(T*), Literal kNoun>
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  T* get() const {
    if (!handle_) raise("closed", std::string("the ") + kNoun.text + " is closed");
    return handle_;
  }
  T** out() { return &handle_; }
  bool closed() const { return handle_ == nullptr; }
  void close() {
    T* const handle = std::exchange(handle_, nullptr);
    if (handle && !shared_) without_gil([&] { Free(handle); });
    shared_.reset();
  }
  // Another handle of the same object, which is freed with the last one.
  template <class Derived>
  static std::unique_ptr<Derived> share(Derived& of) {
    T* const handle = of.get();
    if (!of.shared_)
      of.shared_ = std::shared_ptr<T>(handle, [](T* last) { without_gil([&] { Free(last); }); });
    auto other = std::make_unique<Derived>();
    other->handle_ = handle;
    other->shared_ = of.shared_;
    return other;
  }

 private:
  T* handle_ = nullptr;
  std::shared_ptr<T> shared_;  // null: it is the only one
};

// A handle that is valid until the callback which gets it returns.
template <class T>
struct Lent {
  T* get() const { return handle; }
  T* handle = nullptr;
};

// ---- values

// Ids from a sequence of integers, or an array of one dimension of integers.
std::vector<weft_token> ids_of(const py::handle& ids);
// UTF-8 of a str, or bytes as they are. TypeError for all else.
std::string bytes_of(const py::handle& text, const char* name);
// Numbers of one dimension as floats; messages call them `name`.
class Numbers {
 public:
  Numbers(const py::handle& given, const char* name);
  const float* data() const { return array_.data(); }
  std::size_t size() const { return static_cast<std::size_t>(array_.size()); }

 private:
  py::array_t<float, py::array::c_style | py::array::forcecast> array_;
};
// A token id; ArgumentError for numbers that none can have.
weft_token id_of(std::int64_t number);
// A text of the library, with U+FFFD for bytes that are not UTF-8.
py::str text_of(const char* text);
py::str text_of(const char* text, std::size_t size);
py::object optional_text_of(const char* text);  // None for null
// The same as bytes_of(), for functions that take a text up to a NUL: ArgumentError if it has one.
std::string c_text_of(const py::handle& text, const char* name);
// The same, or nothing for None.
std::optional<std::string> optional_c_text_of(const py::handle& text, const char* name);
inline const char* c_str_of(const std::optional<std::string>& text) {
  return text ? text->c_str() : nullptr;
}
std::int64_t integer_of(const py::handle& value, const std::string& name);
double number_of(const py::handle& value, const std::string& name);
// The text of a call, which is freed.
class Text {
 public:
  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { weft_text_free(&text_); }
  weft_text* out() { return &text_; }
  py::str str() const { return py::str(text_.data, text_.size); }
  py::bytes bytes() const { return py::bytes(text_.data, text_.size); }

 private:
  weft_text text_{nullptr, 0};
};

// Members of a struct of options from keywords.
class Options {
 public:
  explicit Options(const py::dict& given) : given_(given) {}

  template <class T>
  Options& take(const char* name, T& member) {
    const py::handle value = find(name);
    if (!value || value.is_none()) return *this;
    if constexpr (std::is_same_v<T, const char*>) {
      member = texts_.emplace_back(c_text_of(value, name)).c_str();
    } else if constexpr (std::is_floating_point_v<T>) {
      member = static_cast<T>(number_of(value, name));
    } else {
      const std::int64_t number = integer_of(value, name);
      if (!std::in_range<T>(number)) refuse_range(name, number);
      member = static_cast<T>(number);
    }
    return *this;
  }
  py::handle find(const char* name);
  // Raises TypeError that names a keyword which nobody took.
  void finish(const char* function) const;

 private:
  [[noreturn]] static void refuse_range(const char* name, std::int64_t number);
  py::dict given_;
  std::set<std::string> taken_;
  std::deque<std::string> texts_;
};

// Parts of the module.
void add_models(py::module_& m);
void add_sessions(py::module_& m);
void add_samplers(py::module_& m);
void add_speculations(py::module_& m);
void add_generations(py::module_& m);
void add_chats(py::module_& m);
void add_graphs(py::module_& m);
void add_architectures(py::module_& m);
void add_custom_ops(py::module_& m);
void add_embedders(py::module_& m);

// ---- options that several parts use

// The options of a session, with all that they refer to.
std::shared_ptr<const weft_session_options> session_options(const py::dict& given);

// Options of samplers, which refer to `options`.
struct SamplerOptions {
  explicit SamplerOptions(const py::dict& given);
  weft_sampler_options options;
  Options reader;
  std::vector<weft_logit_bias> biases;
  std::vector<weft_token> breakers;
};

struct BeamOptions {
  explicit BeamOptions(const py::dict& given);
  weft_beam_options options;
  Options reader;
};

// Options of quantizing, with the callables `progress` and `log`.
struct QuantizeOptions {
  explicit QuantizeOptions(const py::dict& given);
  weft_quantize_options options;
  Options reader;
};

// Options of measuring, with those of the session as a dict.
struct BenchOptions {
  explicit BenchOptions(const py::dict& given);
  weft_bench_options options;
  Options reader;
  std::shared_ptr<const weft_session_options> session;
};

}  // namespace weft_python

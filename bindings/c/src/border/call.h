#pragma once
// The border between C and C++: every function of the API is the body of a call().

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cxxabi.h>

#include "weft/base/error.h"
#include "weft/weft.h"

#include "border/handles.h"

namespace weft::c_api {

// A call that has the status and message of another one: of a callback.
class StatusError : public Error {
 public:
  StatusError(weft_status status, const std::string& message) : Error(message), status_(status) {}
  weft_status status() const { return status_; }

 private:
  weft_status status_;
};

// Counts a running call of this thread, so that the end of the process waits for it. Throws
// StatusError WEFT_ERROR_CLOSED when the process ends.
class RunningCall {
 public:
  RunningCall();
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
};

// What the library makes once is made: forks need not wait for calls any more.
void mark_warm();

// A callback of the caller's program. The end of the process does not wait for the call meanwhile.
class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

 private:
  std::int64_t calls_;  // that this thread runs
};
// Throws StatusError WEFT_ERROR_CLOSED when the process ends.
void require_open();

// The status of the exception that is being handled; its error in *error unless that is NULL.
weft_status report(weft_error** error) noexcept;

// Runs a function of the API. No exception leaves it, but for those that end a thread.
template <class F>
weft_status call(weft_error** error, const F& f) {
  try {
    const RunningCall running;
    f();
    return WEFT_SUCCESS;
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return report(error);
  }
}

// The result of f(). What it throws becomes WEFT_ERROR_CALLBACK.
template <class F>
auto result_of_callback(const F& f) {
  try {
    const InCallback in_callback;
    return f();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& e) {
    throw StatusError(WEFT_ERROR_CALLBACK, std::string("a callback threw: ") + e.what());
  } catch (...) {
    throw StatusError(WEFT_ERROR_CALLBACK, "a callback threw an exception");
  }
}
// Calls a function of the caller.
template <class F>
auto callback(const F& f) {
  if constexpr (std::is_void_v<decltype(f())>) {
    result_of_callback(f);
    require_open();
  } else {
    auto result = result_of_callback(f);
    require_open();
    return result;
  }
}
// The same for one that returns a status and makes an error: f(weft_error**). Numbers that are not
// a status become WEFT_ERROR_CALLBACK.
template <class F>
void checked_callback(const F& f) {
  struct OwnedError {
    ~OwnedError() { weft_error_free(error); }
    weft_error* error = nullptr;
  } owned;
  const weft_status status = callback([&] { return f(&owned.error); });
  if (status == WEFT_SUCCESS) return;
  std::string message = weft_error_message(owned.error);
  if (message.empty()) message = "a callback returned an error without a message";
  const bool known = status > WEFT_SUCCESS && status <= WEFT_ERROR_INTERNAL;
  throw StatusError(known ? status : WEFT_ERROR_CALLBACK, message);
}

// Frees a handle of this kind.
template <class T>
weft_status free_handle(const void* handle) {
  return call(nullptr, [&] {
    if (handle) take_handle(handle, T::kKind);
  });
}

// A handle for a new object.
template <class Handle, class Object>
Handle* handle_of(std::shared_ptr<Object> object) {
  return static_cast<Handle*>(add_handle(std::move(object)));
}

}  // namespace weft::c_api

#include "call.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "weft/run/nan_error.h"

#include "arguments.h"
#include "gate.h"

namespace weft::c_api {
namespace {

struct Process {
  std::atomic<std::int64_t> running{0};
  std::atomic<bool> ending{false};
};

Process& process() {
  static Process& instance = *new Process;  // never destroyed: threads may be in a call
  return instance;
}

thread_local std::int64_t own_calls = 0;

// Runs at the end of the process, before libraries are destroyed. A call whose callback left by a
// longjmp never ends, so the wait is limited.
void end_calls() {
  using namespace std::chrono;
  process().ending = true;
  const auto limit = steady_clock::now() + milliseconds(500);
  while (process().running > own_calls && steady_clock::now() < limit) {
    cancel_all_gates();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

weft_status status_of_current(std::string& message, int& os_error) {
  const auto as = [&](weft_status status, const std::exception& e) {
    message = e.what();
    return status;
  };
  try {
    throw;
  } catch (const StatusError& e) {
    return as(e.status(), e);
  } catch (const HandleError& e) {
    return as(WEFT_ERROR_HANDLE, e);
  } catch (const ShapeError& e) {
    return as(WEFT_ERROR_SHAPE, e);
  } catch (const DTypeError& e) {
    return as(WEFT_ERROR_DTYPE, e);
  } catch (const FormatError& e) {
    return as(WEFT_ERROR_FORMAT, e);
  } catch (const UnsupportedError& e) {
    return as(WEFT_ERROR_UNSUPPORTED, e);
  } catch (const ValueError& e) {
    return as(WEFT_ERROR_ARGUMENT, e);
  } catch (const IoError& e) {
    os_error = e.os_error();
    return as(WEFT_ERROR_IO, e);
  } catch (const BudgetError& e) {
    return as(WEFT_ERROR_BUDGET, e);
  } catch (const CancelledError& e) {
    return as(WEFT_ERROR_CANCELLED, e);
  } catch (const NanError& e) {
    return as(WEFT_ERROR_NAN, e);
  } catch (const std::bad_alloc&) {
    message = "out of memory";
    return WEFT_ERROR_MEMORY;
  } catch (const std::exception& e) {
    return as(WEFT_ERROR_INTERNAL, e);
  } catch (...) {
    message = "an unknown exception";
    return WEFT_ERROR_INTERNAL;
  }
}

}  // namespace

RunningCall::RunningCall() {
  static const int registered = std::atexit(end_calls);
  (void)registered;
  process().running.fetch_add(1);
  ++own_calls;
  if (process().ending) {
    process().running.fetch_sub(1);
    --own_calls;
    throw StatusError(WEFT_ERROR_CLOSED, "the process is ending: the library is closed");
  }
}

RunningCall::~RunningCall() {
  process().running.fetch_sub(1);
  --own_calls;
}

weft_status report(weft_error** error) noexcept {
  try {
    std::string message;
    int os_error = 0;
    const weft_status status = status_of_current(message, os_error);
    if (error) *error = make_error(status, std::move(message), os_error);
    return status;
  } catch (...) {
    return WEFT_ERROR_MEMORY;
  }
}

}  // namespace weft::c_api

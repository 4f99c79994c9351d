#include "border/call.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include <pthread.h>

#include "weft/backends/device.h"
#include "weft/base/no_destructor.h"
#include "weft/run/nan_error.h"

#include "border/arguments.h"
#include "border/gate.h"

namespace weft::c_api {
namespace {

struct Process {
  std::atomic<std::int64_t> running{0};
  std::atomic<bool> ending{false};
  std::atomic<bool> warm{false};     // what the library makes once is made
  std::atomic<bool> forking{false};  // calls wait
};

Process& process() {
  static NoDestructor<Process> instance;
  return *instance;
}

thread_local std::int64_t own_calls = 0;

// Runs at the end of the process, before libraries are destroyed. The wait is limited: a plug-in
// may compute for long.
void end_calls() {
  using namespace std::chrono;
  process().ending = true;
  const auto limit = steady_clock::now() + milliseconds(500);
  while (process().running > own_calls && steady_clock::now() < limit) {
    cancel_all_gates();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

// A fork while another thread makes what the library makes once would leave it half-made in the
// child. So the first calls of other threads end before it, unless they wait for this thread.
void wait_for_first_calls() {
  using namespace std::chrono;
  if (process().warm) return;
  process().forking = true;
  const auto limit = steady_clock::now() + seconds(2);
  while (process().running > own_calls && steady_clock::now() < limit)
    std::this_thread::sleep_for(microseconds(100));
}
void let_calls_go_on() {
  process().forking = false;
}
// In the child, the calls of other threads do not exist.
void forget_threads() {
  process().running = own_calls;
  let_calls_go_on();
}

// When the library is loaded, so that no thread is inside of it yet. This handler of a fork runs
// before those of the locks that calls need, which are made first.
[[maybe_unused]] const int watched = [] {
  (void)process_generation();
  cancel_all_gates();
  return ::pthread_atfork(wait_for_first_calls, let_calls_go_on, forget_threads);
}();

// At the first call: what the program registered before runs after end_calls().
void watch_exit() {
  static std::atomic<bool> watches{false};
  if (!watches.load(std::memory_order_relaxed) && !watches.exchange(true)) std::atexit(end_calls);
}

// While another thread forks, these calls of this thread do not run.
void let_forks_pass(std::int64_t calls) {
  while (process().forking) {
    process().running.fetch_sub(calls);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    process().running.fetch_add(calls);
  }
}

template <class E>
bool is(const std::exception& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

struct StatusOf {
  bool (*is)(const std::exception& e);
  weft_status status;
};
constexpr StatusOf kStatuses[] = {{is<HandleError>, WEFT_ERROR_HANDLE},
                                  {is<ShapeError>, WEFT_ERROR_SHAPE},
                                  {is<DTypeError>, WEFT_ERROR_DTYPE},
                                  {is<FormatError>, WEFT_ERROR_FORMAT},
                                  {is<UnsupportedError>, WEFT_ERROR_UNSUPPORTED},
                                  {is<ValueError>, WEFT_ERROR_ARGUMENT},
                                  {is<IoError>, WEFT_ERROR_IO},
                                  {is<BudgetError>, WEFT_ERROR_BUDGET},
                                  {is<CancelledError>, WEFT_ERROR_CANCELLED},
                                  {is<NanError>, WEFT_ERROR_NAN},
                                  {is<KernelError>, WEFT_ERROR_CALLBACK},
                                  {is<std::bad_alloc>, WEFT_ERROR_MEMORY}};

weft_status status_of(const std::exception& e) {
  if (const auto* with_status = dynamic_cast<const StatusError*>(&e)) return with_status->status();
  for (const StatusOf& row : kStatuses) {
    if (row.is(e)) return row.status;
  }
  return WEFT_ERROR_INTERNAL;
}

weft_error* error_of(const std::exception& e) {
  const auto* io = dynamic_cast<const IoError*>(&e);
  const std::string message = is<std::bad_alloc>(e) ? "out of memory" : e.what();
  return make_error(status_of(e), message, io ? io->os_error() : 0);
}

}  // namespace

RunningCall::RunningCall() {
  watch_exit();
  process().running.fetch_add(1);
  if (own_calls == 0) let_forks_pass(1);
  ++own_calls;
  try {
    require_open();
  } catch (...) {
    process().running.fetch_sub(1);
    --own_calls;
    throw;
  }
}

RunningCall::~RunningCall() {
  process().running.fetch_sub(1);
  --own_calls;
}

InCallback::InCallback() : calls_(std::exchange(own_calls, 0)) {
  process().running.fetch_sub(calls_);
}

InCallback::~InCallback() {
  process().running.fetch_add(calls_);
  if (calls_ > 0) let_forks_pass(calls_);
  own_calls = calls_;
}

void mark_warm() {
  process().warm.store(true, std::memory_order_relaxed);
}

void require_open() {
  if (process().ending)
    throw StatusError(WEFT_ERROR_CLOSED, "the process is ending: the library is closed");
}

weft_status report(weft_error** error) noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    try {
      if (error) *error = error_of(e);
    } catch (...) {
      return WEFT_ERROR_MEMORY;
    }
    return status_of(e);
  } catch (...) {
    return weft_error_make(WEFT_ERROR_INTERNAL, "an unknown exception", error);
  }
}

}  // namespace weft::c_api

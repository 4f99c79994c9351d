// Threads and the end of the interpreter.
#include <chrono>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "native.h"

namespace weft_python {
namespace {

std::atomic<std::uint64_t> main_thread{0};
std::atomic<std::uint64_t> ending_thread{0};  // 0: the interpreter goes on
std::atomic<int> callbacks{0};

// As Python's threading.get_ident().
std::uint64_t own_ident() {
  return static_cast<std::uint64_t>(pthread_self());
}

bool ends_elsewhere() {
  const std::uint64_t ending = ending_thread;
  return ending != 0 && ending != own_ident();
}

}  // namespace

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

void set_main_thread(std::uint64_t ident) {
  main_thread = ident;
  ending_thread = 0;
}

bool is_main_thread() {
  return main_thread == own_ident();
}

bool is_ending() {
  return is_finalizing() || ends_elsewhere();
}

void begin_exit() {
  using namespace std::chrono;
  ending_thread = own_ident();
  const py::gil_scoped_release release;
  const auto limit = steady_clock::now() + seconds(1);
  while (callbacks > 0 && steady_clock::now() < limit) std::this_thread::sleep_for(milliseconds(1));
}

void come_back(PyThreadState* state) {
  while (is_ending()) ::pause();
  PyEval_RestoreThread(state);
}

CallbackScope::CallbackScope() : runs_(false) {
  ++callbacks;
  runs_ = !is_ending();
  if (!runs_) --callbacks;
}

CallbackScope::~CallbackScope() {
  if (runs_) --callbacks;
}

}  // namespace weft_python

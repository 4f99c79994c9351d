#include "border/gate.h"

#include <list>
#include <mutex>
#include <utility>

#include <pthread.h>

#include "weft/base/error.h"

#include "border/call.h"

namespace weft::c_api {
namespace {

struct Gates {
  std::mutex mutex;
  std::list<Gate*> all;  // of objects with threads: only their calls take long
};

Gates& gates();

void lock_gates() {
  gates().mutex.lock();
}
void unlock_gates() {
  gates().mutex.unlock();
}

Gates& gates() {
  static Gates& instance = *new Gates;  // never destroyed: threads may be inside a gate
  static const int registered = ::pthread_atfork(lock_gates, unlock_gates, unlock_gates);
  (void)registered;
  return instance;
}

}  // namespace

Gate::Gate(std::string_view name, Threads threads)
    : name_(name), threads_(threads), process_(process_generation()) {
  if (threads_ == Threads::none) return;
  const std::lock_guard lock(gates().mutex);
  place_ = gates().all.insert(gates().all.end(), this);
}

Gate::~Gate() {
  if (threads_ == Threads::none) return;
  const std::lock_guard lock(gates().mutex);
  gates().all.erase(place_);
}

void Gate::cancel() {
  const std::lock_guard lock(mutex_);
  if (busy_) cancelled_ = true;
}

Inside::Inside(Gate& gate) : gate_(gate) {
  if (gate.is_parents())
    throw StatusError(
        WEFT_ERROR_FORKED,
        fmt::format("the {} belongs to the parent process: open a new one here", gate.name_));
  const std::lock_guard lock(gate.mutex_);
  if (gate.busy_)
    throw StatusError(
        WEFT_ERROR_BUSY,
        fmt::format("another call uses the {}, or a callback did not return from one", gate.name_));
  gate.busy_ = true;
  gate.cancelled_ = false;
}

Inside::~Inside() {
  const std::lock_guard lock(gate_.mutex_);
  gate_.busy_ = false;
}

void CancellableCall::check() {
  if (cancelled()) fail<CancelledError>("the process is ending: the call was cancelled");
}

std::function<bool(double)> CancellableCall::watch(std::function<bool(double)> progress) {
  return [this, inner = std::move(progress)](double share) {
    return !cancelled() && (!inner || inner(share));
  };
}

void cancel_all_gates() {
  const std::lock_guard lock(gates().mutex);
  for (Gate* gate : gates().all) gate->cancel();
}

}  // namespace weft::c_api

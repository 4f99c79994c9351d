#include "border/gate.h"

#include <list>
#include <mutex>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/fork_mutex.h"
#include "weft/base/no_destructor.h"

#include "border/arguments.h"
#include "border/call.h"

namespace weft::c_api {
namespace {

struct Gates {
  ForkMutex mutex;
  std::list<Gate*> all;  // of objects with threads: only their calls take long
};

Gates& gates() {
  static NoDestructor<Gates> instance;
  return *instance;
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
  if (threads_ == Threads::none || is_parents()) return;
  const auto lock = locked();
  if (busy_) cancelled_ = true;
}

void Gate::run_inside(std::function<void()> work) {
  const auto lock = locked();
  busy_ ? left_.push_back(std::move(work)) : work();
}

std::unique_lock<std::mutex> Gate::locked() {
  return threads_ == Threads::own ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

Inside::Inside(Gate& gate) : gate_(gate) {
  if (gate.is_parents())
    throw StatusError(
        WEFT_ERROR_FORKED,
        fmt::format("the {} belongs to the parent process: open a new one here", gate.name_));
  const auto lock = gate.locked();
  if (gate.busy_.exchange(true))
    throw StatusError(
        WEFT_ERROR_BUSY,
        fmt::format("another call uses the {}, or a callback did not return from one", gate.name_));
  gate.cancelled_ = false;
}

Inside::~Inside() {
  std::vector<std::function<void()>> done;  // destroyed after the lock
  const auto lock = gate_.locked();
  done.swap(gate_.left_);
  for (auto& work : done) work();
  gate_.busy_ = false;
}

void CancellerObject::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Gate* gate : gates_) gate->cancel();
}

void CancellerObject::add(Gate& gate) {
  const std::lock_guard lock(mutex_);
  gates_.push_back(&gate);
  if (cancelled_) gate.cancel();
}

void CancellerObject::remove(Gate& gate) {
  const std::lock_guard lock(mutex_);
  std::erase(gates_, &gate);
}

CancellableCall::CancellableCall(const weft_canceller* canceller)
    : canceller_(canceller ? pin<CancellerObject>(canceller) : nullptr) {
  if (canceller_) canceller_->add(*gate_);
}

CancellableCall::~CancellableCall() {
  if (canceller_) canceller_->remove(*gate_);
}

void CancellableCall::check() {
  if (cancelled()) fail<CancelledError>("the call was cancelled");
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

using namespace weft;
using namespace weft::c_api;

weft_status weft_canceller_open(weft_canceller** canceller, weft_error** error) {
  return call(error, [&] {
    required(canceller, "canceller");
    *canceller = handle_of<weft_canceller>(std::make_shared<CancellerObject>());
  });
}

weft_status weft_canceller_cancel(weft_canceller* canceller) {
  return call(nullptr, [&] { pin<CancellerObject>(canceller)->cancel(); });
}

weft_status weft_canceller_free(weft_canceller* canceller) {
  return free_handle<CancellerObject>(canceller);
}

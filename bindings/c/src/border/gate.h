#pragma once
// Objects that one call at a time may use.

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/fork_mutex.h"
#include "weft/weft.h"

#include "border/handles.h"

namespace weft::c_api {

// Lets one call in. Belongs to the process that made it, unless its object has no threads.
class Gate {
 public:
  enum class Threads : std::uint8_t { own, none };
  explicit Gate(std::string_view name, Threads threads = Threads::own);  // "session", a constant
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Cancels the call that is inside, if there is one and the object has threads. From any thread.
  void cancel();
  // True while the call that is inside is to end.
  std::atomic<bool>& cancelled() { return cancelled_; }
  bool is_parents() const { return threads_ == Threads::own && process_ != process_generation(); }
  // Lets `work` use the object: now, or when the call that is inside ends. Calls that come
  // meanwhile wait, so it must be short, use no gate, and throw nothing. For objects with threads
  // of this process.
  void run_inside(std::function<void()> work);

 private:
  friend class Inside;
  std::unique_lock<std::mutex> locked();  // not without threads
  const std::string_view name_;
  const Threads threads_;
  const std::uint32_t process_;
  std::list<Gate*>::iterator place_;  // in the list of all, unless there are no threads
  // Of busy_ with cancelled_, so that cancel() reaches no later call. Unused without threads, where
  // a child of a fork may find it locked.
  std::mutex mutex_;
  std::atomic<bool> busy_{false}, cancelled_{false};
  std::vector<std::function<void()>> left_;  // for the end of the call that is inside
};

// A call that is inside a gate. Throws StatusError: WEFT_ERROR_BUSY, WEFT_ERROR_FORKED.
class Inside {
 public:
  explicit Inside(Gate& gate);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate& gate_;
};

// An object that this call is inside of. T has a `gate`, and an `inner()`: what callers use.
template <class T>
class Used {
 public:
  explicit Used(const void* handle) : Used(pin<T>(handle)) {}
  explicit Used(std::shared_ptr<T> object) : object_(std::move(object)), inside_(object_->gate) {}

  auto* operator->() const { return &object_->inner(); }
  auto& operator*() const { return object_->inner(); }
  const std::shared_ptr<T>& object() const { return object_; }
  std::atomic<bool>& cancelled() const { return object_->gate.cancelled(); }

 private:
  std::shared_ptr<T> object_;
  Inside inside_;
};

// Cancels the calls that it was given to, now and later.
class CancellerObject : public Object {
 public:
  static constexpr Kind kKind = Kind::canceller;
  CancellerObject() : Object(kKind) {}

  void cancel();
  // Between these two the call inside the gate is cancelled, too.
  void add(Gate& gate);
  void remove(Gate& gate);

 private:
  ForkMutex mutex_;
  bool cancelled_ = false;
  std::vector<Gate*> gates_;
};

// A long call on no object that computes, which the end of the process cancels, and the canceller
// of the caller unless it is NULL.
class CancellableCall {
 public:
  explicit CancellableCall(const weft_canceller* canceller = nullptr);
  ~CancellableCall();
  CancellableCall(const CancellableCall&) = delete;
  CancellableCall& operator=(const CancellableCall&) = delete;

  std::atomic<bool>& cancelled() { return gate_->cancelled(); }
  // Throws CancelledError if it is to end.
  void check();
  // The same progress, which is false as soon as the call is to end. REQUIRES: used in this call.
  std::function<bool(double)> watch(std::function<bool(double)> progress);

 private:
  // Not on the stack: it stays in the list of all gates if a callback leaves by a longjmp.
  std::unique_ptr<Gate> gate_ = std::make_unique<Gate>("call");
  Inside inside_{*gate_};
  std::shared_ptr<CancellerObject> canceller_;  // may be null
};

// For the end of the process: cancels all calls that are inside a gate.
void cancel_all_gates();

}  // namespace weft::c_api

#pragma once
// What an engine's thread shares with all others: arriving requests and tasks, cancellation, the
// state that Engine::state() returns. All functions lock, none for longer than a copy takes.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/deadlines.h"
#include "engine/engine_request.h"

namespace weft::serve {

class EngineInbox {
 public:
  using Requests = std::vector<std::shared_ptr<EngineRequest>>;
  using LiveRequests = std::unordered_map<RequestId, std::shared_ptr<EngineRequest>>;
  // Something to do between steps.
  struct Task {
    std::function<void()> run;  // must not throw
    bool has_steps = false;     // takes long, and lets texts run in between
    bool is_urgent = false;     // a step that runs is aborted for it, and repeated
    bool is_quiet = false;      // a prompt that is prepared goes on
  };

  EngineInbox(std::int32_t n_slots, std::int32_t max_waiting);

  // Called from any thread. submit() sets the id, and cancels the request at its deadline. Throws
  // QueueFullError, and BudgetError if EngineState::why_refused says why.
  RequestId submit(std::shared_ptr<EngineRequest> request);
  void cancel(RequestId id);
  // The request prepares a prompt: it waits for nobody, and ends when another one comes. Refused if
  // the engine is not idle.
  void prepare(std::shared_ptr<EngineRequest> request);
  void post(Task task);  // throws QueueFullError if too many with steps wait
  void stop();           // cancels everything
  EngineState state() const;
  bool wait_idle(Clock::time_point until);

  // Called from the engine's thread, like all functions that follow.
  // Adds what has arrived. Waits for something if the engine is not `busy`. False: stop.
  bool receive(bool busy, Requests& requests, std::deque<Task>& tasks);
  // The work of a task with steps, each of which calls both. Sets `cancel` if the engine stops
  // before its end.
  void begin_work(std::atomic<bool>* cancel);
  void end_work();
  // Called before a step with tokens of these requests. Returns false if one of them was cancelled.
  bool begin_step(std::span<EngineRequest* const> requests);
  // Called after the step. `completed`: it was not aborted.
  void end_step(bool completed);
  const std::atomic<bool>& abort_step() const { return abort_step_; }
  // A text of the request leaves the queue for a slot. Counts of waiting texts and of idle slots
  // change together, so that submit() never sees a slot that is promised already.
  void text_starts(EngineRequest& request, std::int32_t slot);
  // A text leaves the queue without a slot: it was cancelled, or has failed.
  void text_dropped(EngineRequest& request);
  // A text leaves its slot. `returns`: to the queue.
  void text_leaves(const EngineRequest& request, std::int32_t slot, bool returns);
  void request_ended(const EngineRequest& request, bool failed);
  // All requests have failed, and no slot is busy. Returns them. Does not allocate.
  LiveRequests fail_all();
  // `update` changes the state.
  template <class F>
  void update_state(F update) {
    const std::lock_guard lock(mutex_);
    update(state_);
  }

 private:
  void cancel_locked(EngineRequest& request);
  void stop_preparing();
  void leave_queue_locked(EngineRequest& request);
  bool is_idle() const { return waits_ && live_.empty() && tasks_.empty(); }
  std::int64_t n_idle_slots() const;

  const std::int32_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_, idle_;
  Requests new_requests_;
  std::deque<Task> tasks_;
  bool stops_ = false;
  int n_waiters_ = 0;   // wait_idle()
  bool waits_ = false;  // the engine's thread has nothing to do
  std::atomic<bool>* work_ = nullptr;
  RequestId last_id_ = 0;
  LiveRequests live_;
  std::int64_t n_requests_waiting_ = 0;  // requests that never were in a slot
  std::int64_t n_texts_waiting_ = 0;
  std::int64_t n_step_tasks_ = 0;     // tasks with steps, posted and not ended
  std::vector<EngineRequest*> step_;  // requests in the current step
  bool may_abort_ = true;
  std::atomic<bool> abort_step_{false};
  EngineState state_;
  Deadlines deadlines_{[this](RequestId id) { cancel(id); }};  // last: its thread calls cancel()
};

}  // namespace weft::serve

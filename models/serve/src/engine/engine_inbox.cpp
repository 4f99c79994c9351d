#include "engine/engine_inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/base/error.h"

namespace weft::serve {

EngineInbox::EngineInbox(std::int32_t n_slots, std::int32_t max_waiting)
    : max_waiting_(max_waiting) {
  for (std::int32_t i = 0; i < n_slots; ++i) state_.slots.push_back({.slot = i});
}

std::int64_t EngineInbox::n_idle_slots() const {
  return std::ranges::count(state_.slots, false, &SlotState::busy);
}

void EngineInbox::stop_preparing() {
  for (const auto& [id, request] : live_)
    if (request->prepares) cancel_locked(*request);
}

void EngineInbox::prepare(std::shared_ptr<EngineRequest> request) {
  const std::lock_guard lock(mutex_);
  if (!live_.empty() || !tasks_.empty() || stops_ || n_waiters_ > 0 || n_step_tasks_ > 0) return;
  request->prepares = true;
  request->waits = false;
  request->id = ++last_id_;
  live_.emplace(request->id, request);
  new_requests_.push_back(std::move(request));
  arrived_.notify_one();
}

RequestId EngineInbox::submit(std::shared_ptr<EngineRequest> request) {
  const std::lock_guard lock(mutex_);
  if (!state_.why_refused.empty()) fail<BudgetError>("{}", state_.why_refused);
  // Further texts of requests, and texts that were preempted, take slots first.
  const std::int64_t others = n_texts_waiting_ - n_requests_waiting_;
  const std::int64_t n_free = std::max<std::int64_t>(0, n_idle_slots() - others);
  if (n_requests_waiting_ + 1 - n_free > max_waiting_)
    fail<QueueFullError>("{} requests wait already, which is the limit", n_requests_waiting_);
  stop_preparing();
  const std::optional<Clock::time_point> deadline = request->wanted.deadline;
  if (deadline) deadlines_.add(*deadline, last_id_ + 1);
  request->id = ++last_id_;
  ++state_.counters.requests;
  ++n_requests_waiting_;
  n_texts_waiting_ += request->wanted.texts;
  state_.n_waiting = n_requests_waiting_;
  live_.emplace(request->id, request);
  new_requests_.push_back(std::move(request));
  arrived_.notify_one();
  return last_id_;
}

// A step that was aborted is repeated without the request. The next one may not be aborted, so that
// the other texts make progress however many requests are cancelled; unless no other text is in it.
void EngineInbox::cancel_locked(EngineRequest& request) {
  request.cancelled = true;
  const auto is_cancelled = [](const EngineRequest* r) { return r->cancelled.load(); };
  if (request.in_step && (may_abort_ || std::ranges::all_of(step_, is_cancelled)))
    abort_step_ = true;
}

void EngineInbox::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  cancel_locked(*found->second);
  arrived_.notify_one();
}

void EngineInbox::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (task.has_steps && n_step_tasks_ > max_waiting_)  // one of them runs
    fail<QueueFullError>("{} requests wait already, which is the limit", max_waiting_);
  if (task.has_steps && !state_.why_refused.empty()) fail<BudgetError>("{}", state_.why_refused);
  if (!task.is_quiet) stop_preparing();
  if (task.is_urgent && may_abort_ && !step_.empty()) abort_step_ = true;
  const bool has_steps = task.has_steps;
  tasks_.push_back(std::move(task));
  n_step_tasks_ += has_steps;
  arrived_.notify_one();
}

void EngineInbox::stop() {
  const std::lock_guard lock(mutex_);
  stops_ = true;
  for (const auto& [id, request] : live_) cancel_locked(*request);
  abort_step_ = true;
  if (work_) *work_ = true;
  arrived_.notify_one();
}

EngineState EngineInbox::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool EngineInbox::wait_idle(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  stop_preparing();
  ++n_waiters_;
  const bool idle = idle_.wait_until(lock, until, [this] { return is_idle(); });
  --n_waiters_;
  return idle;
}

bool EngineInbox::receive(bool busy, Requests& requests, std::deque<Task>& tasks) {
  std::unique_lock lock(mutex_);
  const auto has_arrived = [this] { return stops_ || !new_requests_.empty() || !tasks_.empty(); };
  if (!busy && !has_arrived()) {
    waits_ = true;
    if (is_idle()) idle_.notify_all();
    arrived_.wait(lock, has_arrived);
    waits_ = false;
  }
  std::ranges::move(new_requests_, std::back_inserter(requests));
  std::ranges::move(tasks_, std::back_inserter(tasks));
  new_requests_.clear();
  tasks_.clear();
  return !stops_;
}

void EngineInbox::begin_work(std::atomic<bool>* cancel) {
  const std::lock_guard lock(mutex_);
  work_ = cancel;
  if (stops_) *work_ = true;
}

void EngineInbox::end_work() {
  const std::lock_guard lock(mutex_);
  work_ = nullptr;
  --n_step_tasks_;
}

bool EngineInbox::begin_step(std::span<EngineRequest* const> requests) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(requests, [](const EngineRequest* r) { return r->cancelled.load(); }))
    return false;
  abort_step_ = stops_;
  step_.assign(requests.begin(), requests.end());
  for (EngineRequest* request : step_) request->in_step = true;
  return true;
}

void EngineInbox::end_step(bool completed) {
  const std::lock_guard lock(mutex_);
  for (EngineRequest* request : step_) request->in_step = false;
  step_.clear();
  may_abort_ = completed;
}

void EngineInbox::leave_queue_locked(EngineRequest& request) {
  if (request.prepares) return;
  --n_texts_waiting_;
  if (std::exchange(request.waits, false)) --n_requests_waiting_;
  state_.n_waiting = n_requests_waiting_;
}

void EngineInbox::text_starts(EngineRequest& request, std::int32_t slot) {
  const std::lock_guard lock(mutex_);
  leave_queue_locked(request);
  if (request.prepares) return;
  state_.slots[static_cast<std::size_t>(slot)].busy = true;
  ++state_.n_running;
}

void EngineInbox::text_dropped(EngineRequest& request) {
  const std::lock_guard lock(mutex_);
  leave_queue_locked(request);
}

void EngineInbox::text_leaves(const EngineRequest& request, std::int32_t slot, bool returns) {
  const std::lock_guard lock(mutex_);
  if (request.prepares) return;
  state_.slots[static_cast<std::size_t>(slot)].busy = false;
  --state_.n_running;
  n_texts_waiting_ += returns;
}

EngineInbox::LiveRequests EngineInbox::fail_all() {
  Requests unseen;  // released without the lock
  const std::lock_guard lock(mutex_);
  unseen.swap(new_requests_);
  for (const auto& [id, request] : live_) state_.counters.failed += !request->prepares;
  n_requests_waiting_ = n_texts_waiting_ = 0;
  state_.n_waiting = state_.n_running = 0;
  for (SlotState& slot : state_.slots) {
    slot.busy = false;
    slot.n_held = 0;
  }
  step_.clear();
  return std::exchange(live_, {});
}

void EngineInbox::request_ended(const EngineRequest& request, bool failed) {
  const std::lock_guard lock(mutex_);
  if (failed && !request.prepares)
    ++state_.counters.failed;
  else if (request.cancelled && !request.prepares)
    ++state_.counters.cancelled;
  live_.erase(request.id);
}

}  // namespace weft::serve

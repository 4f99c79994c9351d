#include "replay/poll_observer.h"

#include <utility>

namespace weft::scheduler {

NodeObserver* PollObserver::begin_run(Poll& poll, NodeObserver* inner) {
  poll_ = &poll;
  inner_ = inner;
  thread_ = std::this_thread::get_id();
  failure_ = nullptr;
  return this;
}

void PollObserver::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void PollObserver::begin(int worker) noexcept {
  if (inner_) inner_->begin(worker);
}

void PollObserver::before(const PlanStep& step, int worker, const KernelArgs& args,
                          const Region& region) noexcept {
  if (std::this_thread::get_id() == thread_) ask();
  if (inner_) inner_->before(step, worker, args, region);
}

void PollObserver::after(const PlanStep& step, int worker, const KernelArgs& args,
                         const Region& region) noexcept {
  if (inner_) inner_->after(step, worker, args, region);
}

void PollObserver::ask() noexcept {
  try {
    if (!poll_->goes_on()) stopped_.store(true, std::memory_order_relaxed);
  } catch (...) {
    failure_ = std::current_exception();
    stopped_.store(true, std::memory_order_relaxed);
  }
}

}  // namespace weft::scheduler

#include "weft/scheduler/poll.h"

#include <utility>

#include "weft/base/error.h"

namespace weft {

void Poll::run(Executor& executor, const Extents& extents, const std::atomic<bool>* cancel) {
  executor_ = &executor;
  thread_ = std::this_thread::get_id();
  try {
    executor.run(extents, cancel, this);
  } catch (const CancelledError&) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    throw;
  }
}

void Poll::before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept {
  constexpr std::chrono::milliseconds kInterval{50};
  if (std::this_thread::get_id() != thread_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  try {
    if (!go_on_()) executor_->stop();
  } catch (...) {
    failure_ = std::current_exception();
    executor_->stop();
  }
  next_ = Clock::now() + kInterval;
}

}  // namespace weft

#pragma once
// Runs of an executor that ask their caller, every now and then, whether to go on: for programs
// that must react to signals while a step is computed.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>

#include "weft/scheduler/executor.h"

namespace weft {

// One run at a time.
class Poll final : public NodeObserver {
 public:
  // `go_on` is called between nodes on the thread that called run(), about every 50 ms, also if the
  // runs are shorter. It may throw.
  explicit Poll(std::function<bool()> go_on) : go_on_(std::move(go_on)) {}

  // As Executor::run(). Throws CancelledError if `go_on` returned false, and what it threw.
  void run(Executor& executor, const Extents& extents, const std::atomic<bool>* cancel);

  bool reads_values() const override { return false; }
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}

 private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool()> go_on_;
  Clock::time_point next_;
  // The run in progress.
  Executor* executor_ = nullptr;
  std::thread::id thread_;
  std::exception_ptr failure_;
};

}  // namespace weft

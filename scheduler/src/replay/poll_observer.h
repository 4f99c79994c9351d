#pragma once
// The observer of runs with a poll: asks it between nodes, and tells the run's own observer
// everything. So a run with neither of them tests one pointer per node.

#include <atomic>
#include <exception>
#include <thread>

#include "weft/scheduler/executor.h"
#include "weft/scheduler/poll.h"

namespace weft::scheduler {

class PollObserver final : public NodeObserver {
 public:
  // Sets `stopped` to end a run.
  explicit PollObserver(std::atomic<bool>& stopped) : stopped_(stopped) {}

  // The observer of a run on the calling thread. `inner` may be null.
  NodeObserver* begin_run(Poll& poll, NodeObserver* inner);
  void rethrow();  // what the poll threw, if it did

  bool reads_values() const override { return inner_ && inner_->reads_values(); }
  bool verifies() const override { return inner_ && inner_->verifies(); }
  void begin(int worker) noexcept override;
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

 private:
  void ask() noexcept;

  std::atomic<bool>& stopped_;
  // The run in progress.
  Poll* poll_ = nullptr;
  NodeObserver* inner_ = nullptr;
  std::thread::id thread_;
  std::exception_ptr failure_;
};

}  // namespace weft::scheduler

#pragma once
// Records the start, the end and the worker of every kernel call of a run.
//
//   Profiler profiler(session.options().workers, 1 << 16);
//   session.step(tokens, nullptr, &profiler);
//   for (const ProfiledCall& call : profiler.calls(0)) ...
//
// Calls of small models take a microsecond, and reading the processor's clock takes a hundredth of
// that. The clock is therefore read once after each call, and once before a sequence of calls.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/base/processor.h"
#include "weft/scheduler/executor.h"

namespace weft {

struct ProfiledCall {
  const PlanStep* step = nullptr;                       // valid while the plan that ran exists
  std::int64_t begin_ns = 0, end_ns = 0;                // since the profiler's construction
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;  // the region that it computed
  std::int64_t ns() const { return end_ns - begin_ns; }
};

// One thread per worker may record at a time. All other members are for the thread that runs plans,
// between runs.
class Profiler final : public NodeObserver {
 public:
  // Allocates and touches the memory for `max_calls` calls of each worker, so that recording does
  // not allocate.
  Profiler(int workers, std::size_t max_calls);
  bool reads_values() const override { return false; }

  void begin(int worker) noexcept override { lane(worker).last = processor_ticks(); }
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  // A call ended, and the next one begins, if there is one.
  void after(const PlanStep& step, int worker, const KernelArgs&,
             const Region& region) noexcept override {
    Lane& mine = lane(worker);
    const std::int64_t now = processor_ticks(), before = mine.last;
    mine.last = now;
    if (mine.n_calls == max_calls_) {
      ++mine.dropped;
      return;
    }
    // The kernel has evicted cache lines meanwhile: prefetch the line that will be written soon.
    __builtin_prefetch(mine.calls.data() + mine.n_calls + kAhead, 1);
    const auto narrow = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
    mine.calls[mine.n_calls++] = {&step,
                                  before,
                                  now,
                                  narrow(region.row0),
                                  narrow(region.row1),
                                  narrow(region.col0),
                                  narrow(region.col1)};
  }

  int workers() const { return static_cast<int>(lanes_.size()); }
  std::vector<ProfiledCall> calls(int worker) const;  // in chronological order
  std::int64_t dropped() const;                       // calls beyond `max_calls`
  std::int64_t now_ns() const { return since_start(processor_ticks()); }  // since the construction
  void clear();  // forgets the calls, keeps the time

 private:
  struct Record {
    const PlanStep* step;
    std::int64_t begin, end;              // ticks
    std::int32_t row0, row1, col0, col1;  // narrow: a record is written per call
  };
  struct alignas(64) Lane {
    std::vector<Record> calls;
    std::size_t n_calls = 0;
    std::int64_t dropped = 0, last = 0;
  };
  Lane& lane(int worker) { return lanes_[static_cast<std::size_t>(worker)]; }
  std::int64_t since_start(std::int64_t at) const {
    return static_cast<std::int64_t>(static_cast<double>(at - start_) * ns_per_tick_);
  }
  static double measure_ns_per_tick();

  static constexpr std::size_t kAhead = 3;  // records

  std::vector<Lane> lanes_;
  std::size_t max_calls_;
  double ns_per_tick_;
  std::int64_t start_;  // ticks
};

}  // namespace weft

#pragma once
// Records when every kernel call of a run began and ended, and on which worker.
//
//   Profiler profiler(session.options().workers, 1 << 16);
//   session.step(tokens, nullptr, &profiler);
//   for (const ProfiledCall& call : profiler.calls(0)) ...

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/scheduler/executor.h"

namespace weft {

struct ProfiledCall {
  const PlanStep* step = nullptr;                       // of the plan that ran: lives as long as it
  std::int64_t begin_ns = 0, end_ns = 0;                // since the profiler was made
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;  // what it computed
  std::int64_t ns() const { return end_ns - begin_ns; }
};

// One thread per worker may call before() and after() at a time; everything else is for the thread
// that runs plans, between runs.
class Profiler final : public NodeObserver {
 public:
  // Room for `most_calls` of each worker is taken here and touched, so that recording takes no
  // more.
  Profiler(int workers, std::size_t most_calls);
  bool reads_values() const override { return false; }

  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

  int workers() const { return static_cast<int>(lanes_.size()); }
  std::span<const ProfiledCall> calls(int worker) const;  // in the order of time
  std::int64_t dropped() const;                           // calls that there was no room for
  std::int64_t now_ns() const;                            // since the profiler was made
  void clear();                                           // forgets the calls, keeps the clock

 private:
  struct alignas(64) Lane {
    std::vector<ProfiledCall> calls;
    std::size_t n_calls = 0;
    std::int64_t dropped = 0, begin_ns = 0;
  };
  Lane& lane(int worker) { return lanes_[static_cast<std::size_t>(worker)]; }

  std::vector<Lane> lanes_;
  double ns_per_tick_;
  std::int64_t start_;  // ticks
};

}  // namespace weft

#include "weft/scheduler/profiler.h"

#include <algorithm>
#include <chrono>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// A node of a small model takes a microsecond, and the system's clock a fortieth of that.
std::int64_t ticks() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return Clock::now().time_since_epoch().count();
#endif
}

double measure_ns_per_tick() {
  constexpr std::chrono::milliseconds kLong{20};
  const auto start = Clock::now();
  const std::int64_t start_ticks = ticks();
  auto end = Clock::now();
  while (end - start < kLong) end = Clock::now();
  return std::chrono::duration<double, std::nano>(end - start).count() /
         static_cast<double>(ticks() - start_ticks);
}

}  // namespace

Profiler::Profiler(int workers, std::size_t most_calls)
    : lanes_(static_cast<std::size_t>(std::max(workers, 1))),
      ns_per_tick_(measure_ns_per_tick()),
      start_(ticks()) {
  for (Lane& lane : lanes_) lane.calls.resize(most_calls);
}

std::int64_t Profiler::now_ns() const {
  return static_cast<std::int64_t>(static_cast<double>(ticks() - start_) * ns_per_tick_);
}

void Profiler::before(const PlanStep&, int worker, const KernelArgs&, const Region&) noexcept {
  lane(worker).begin_ns = now_ns();
}

void Profiler::after(const PlanStep& step, int worker, const KernelArgs&,
                     const Region& region) noexcept {
  Lane& mine = lane(worker);
  const std::int64_t end_ns = now_ns();
  if (mine.n_calls == mine.calls.size()) {
    ++mine.dropped;
    return;
  }
  mine.calls[mine.n_calls++] = {.step = &step,
                                .begin_ns = mine.begin_ns,
                                .end_ns = end_ns,
                                .row0 = region.row0,
                                .row1 = region.row1,
                                .col0 = region.col0,
                                .col1 = region.col1};
}

std::span<const ProfiledCall> Profiler::calls(int worker) const {
  const Lane& lane = lanes_[static_cast<std::size_t>(worker)];
  return std::span(lane.calls).first(lane.n_calls);
}

std::int64_t Profiler::dropped() const {
  std::int64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.dropped;
  return sum;
}

void Profiler::clear() {
  for (Lane& lane : lanes_) lane.n_calls = 0, lane.dropped = 0;
}

}  // namespace weft

#include "weft/scheduler/profiler.h"

#include <algorithm>
#include <chrono>

namespace weft {

double Profiler::measure_ns_per_tick() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLong{20};
  const auto start = Clock::now();
  const std::int64_t start_ticks = processor_ticks();
  auto end = Clock::now();
  while (end - start < kLong) end = Clock::now();
  return std::chrono::duration<double, std::nano>(end - start).count() /
         static_cast<double>(processor_ticks() - start_ticks);
}

Profiler::Profiler(int workers, std::size_t max_calls)
    : lanes_(static_cast<std::size_t>(std::max(workers, 1))),
      max_calls_(max_calls),
      ns_per_tick_(measure_ns_per_tick()),
      start_(processor_ticks()) {
  for (Lane& lane : lanes_) lane.calls.resize(max_calls + kAhead);
}

std::vector<ProfiledCall> Profiler::calls(int worker) const {
  const Lane& lane = lanes_[static_cast<std::size_t>(worker)];
  std::vector<ProfiledCall> list;
  list.reserve(lane.n_calls);
  for (std::size_t i = 0; i < lane.n_calls; ++i) {
    const Record& r = lane.calls[i];
    list.push_back({.step = r.step,
                    .begin_ns = since_start(r.begin),
                    .end_ns = since_start(r.end),
                    .row0 = r.row0,
                    .row1 = r.row1,
                    .col0 = r.col0,
                    .col1 = r.col1});
  }
  return list;
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

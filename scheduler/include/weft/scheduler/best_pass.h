#pragma once
// Timing of several threads that do the same work at the same time.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace weft::bench {

// When each of several threads began and ended a pass.
struct PassTimes {
  std::chrono::steady_clock::time_point start, end;
};

// Seconds of the best pass, from the first thread's start to the last one's end. `times` are of
// [thread][pass].
inline double best_of(const std::vector<std::vector<PassTimes>>& times) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t pass = 0; pass < times[0].size(); ++pass) {
    PassTimes all = times[0][pass];
    for (const auto& mine : times) {
      all.start = std::min(all.start, mine[pass].start);
      all.end = std::max(all.end, mine[pass].end);
    }
    best = std::min(best, std::chrono::duration<double>(all.end - all.start).count());
  }
  return best;
}

// Calls prepare(i) once and then work(i) `passes` times, in `threads` threads that start together
// each time. Returns the seconds of the best pass, from the first thread's start to the last one's
// end.
template <class Prepare, class Work>
double best_pass(int threads, int passes, const Prepare& prepare, const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<PassTimes>> times(
      static_cast<std::size_t>(threads), std::vector<PassTimes>(static_cast<std::size_t>(passes)));
  std::barrier<> line(threads);
  const auto thread = [&](int i) {
    std::vector<PassTimes>& mine = times[static_cast<std::size_t>(i)];
    prepare(i);
    for (PassTimes& t : mine) {
      line.arrive_and_wait();
      t.start = Clock::now();
      work(i);
      t.end = Clock::now();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(thread, i);
  } catch (...) {  // a thread cannot be started: nothing is measured, the others end
    for (int i = static_cast<int>(others.size()) + 1; i < threads; ++i) line.arrive_and_drop();
    thread(0);
    for (std::thread& other : others) other.join();
    throw;
  }
  thread(0);
  for (std::thread& other : others) other.join();
  return best_of(times);
}

}  // namespace weft::bench

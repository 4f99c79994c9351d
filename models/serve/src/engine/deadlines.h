#pragma once
// Calls a function when points in time are reached, on a thread of its own, which starts with the
// first of them and sleeps in between.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/clock.h"

namespace weft::serve {

class Deadlines {
 public:
  using Id = std::uint64_t;

  // `expired` is called for each deadline, once; it may be called from any thread.
  explicit Deadlines(std::function<void(Id)> expired) : expired_(std::move(expired)) {}
  ~Deadlines();  // drops those that are left
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // Called from any thread.
  void add(Clock::time_point when, Id id);

 private:
  using Entry = std::pair<Clock::time_point, Id>;
  void loop();

  const std::function<void(Id)> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
  bool stops_ = false;
  std::thread thread_;  // once there are entries
};

}  // namespace weft::serve

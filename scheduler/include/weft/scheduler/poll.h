#pragma once
// Asks a caller, every now and then while its runs compute, whether to go on (RunOptions::poll):
// for programs that must react to signals during a step.

#include <chrono>
#include <functional>
#include <utility>

namespace weft {

// One run at a time.
class Poll {
 public:
  // `go_on` is called between nodes on the thread that called run(), about every 50 ms, also if the
  // runs are shorter. If it returns false, run() throws CancelledError. It may throw, and so does
  // run() then.
  explicit Poll(std::function<bool()> go_on) : go_on_(std::move(go_on)) {}

  // Whether the run goes on; calls `go_on` if it is time to. For executors.
  bool goes_on();

 private:
  using Clock = std::chrono::steady_clock;
  const std::function<bool()> go_on_;
  Clock::time_point next_;
};

}  // namespace weft

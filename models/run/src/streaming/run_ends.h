#pragma once
// Whether a run that waits for the disk has to end early.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace weft::run {

// SessionOptions::poll for threads that wait for the disk. The scheduler calls it only between
// nodes, and a read may take minutes.
class WaitPoll {
 public:
  // `go_on` may be empty.
  explicit WaitPoll(std::function<bool()> go_on) : go_on_(std::move(go_on)) {}

  // A run begins on this thread, the only one that calls `go_on`.
  void begin() noexcept;
  // Whether `go_on` has ended the run. Calls it about every 50 ms. Any thread.
  bool ended() noexcept;
  // Throws what `go_on` threw in the last run.
  void rethrow();

 private:
  const std::function<bool()> go_on_;
  std::thread::id thread_;
  std::chrono::steady_clock::time_point next_;
  std::atomic<bool> ended_{false};
  std::exception_ptr failure_;
};

// The reasons to end the run in progress.
struct RunEnds {
  const std::atomic<bool>* cancel = nullptr;
  const std::atomic<bool>* stopped = nullptr;
  WaitPoll* poll = nullptr;
  bool operator()() const {
    return (cancel && cancel->load(std::memory_order_relaxed)) ||
           (stopped && stopped->load(std::memory_order_relaxed)) || (poll && poll->ended());
  }
};

inline void WaitPoll::begin() noexcept {
  thread_ = std::this_thread::get_id();
  ended_.store(false, std::memory_order_relaxed);
  failure_ = nullptr;
}

inline bool WaitPoll::ended() noexcept {
  constexpr std::chrono::milliseconds kInterval{50};
  if (!go_on_ || std::this_thread::get_id() != thread_ || ended_.load(std::memory_order_relaxed))
    return ended_.load(std::memory_order_relaxed);
  if (std::chrono::steady_clock::now() < next_) return false;
  try {
    if (!go_on_()) ended_.store(true, std::memory_order_relaxed);
  } catch (...) {
    failure_ = std::current_exception();
    ended_.store(true, std::memory_order_relaxed);
  }
  next_ = std::chrono::steady_clock::now() + kInterval;
  return ended_.load(std::memory_order_relaxed);
}

inline void WaitPoll::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace weft::run

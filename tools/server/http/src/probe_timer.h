#pragma once
// Says when to find out whether a client that has closed its direction still reads.

#include <algorithm>
#include <chrono>

namespace weft::http {

// Clients may count or log what they skip, so pauses double, up to kMaxPause.
class ProbeTimer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kFirstPause{1}, kMaxPause{16};

  // Returns true at the first call, and then once after each pause.
  bool due(Time now) {
    if (now < next_) return false;
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, kMaxPause);
    return true;
  }

 private:
  Time next_ = Time::min();
  std::chrono::seconds pause_ = kFirstPause;
};

}  // namespace weft::http

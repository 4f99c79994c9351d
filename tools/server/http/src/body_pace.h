#pragma once
// How fast a body comes. Clients that are too slow would hold a connection for as long as they
// like.

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "weft/base/clock.h"
#include "weft/http/server.h"

namespace weft::http {

class BodyPace {
 public:
  explicit BodyPace(const ServerOptions& options) : options_(options) {}

  void start(Clock::time_point now) {
    start_ = last_ = mark_ = now;
    n_bytes_ = n_marked_ = 0;
  }
  // `n` bytes have come. Returns whether they came at the lowest rate since this last was true.
  bool add(std::size_t n, Clock::time_point now) {
    last_ = now;
    n_bytes_ += n;
    if (time_for(n_bytes_ - n_marked_) < now - mark_) return false;
    mark_ = now;
    n_marked_ = n_bytes_;
    return true;
  }
  // When the client has been silent for too long, or too slow since the start.
  Clock::time_point deadline() const {
    return std::min(last_ + options_.timeout, start_ + options_.body_grace + time_for(n_bytes_));
  }

 private:
  Clock::duration time_for(std::size_t n_bytes) const {
    const auto rate = static_cast<double>(options_.min_body_rate);
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(n_bytes) / rate));
  }

  const ServerOptions& options_;
  Clock::time_point start_, last_, mark_;
  std::size_t n_bytes_ = 0, n_marked_ = 0;  // all; those at mark_
};

}  // namespace weft::http

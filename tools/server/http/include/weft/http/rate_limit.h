#pragma once
// How many requests a client may send per minute.

#include <cstddef>
#include <string>
#include <unordered_map>

#include "weft/base/clock.h"

namespace weft::http {

// One thread at a time.
class RateLimit {
 public:
  // A client that was silent may send `per_minute` requests at once. REQUIRES: per_minute > 0.
  explicit RateLimit(int per_minute) : per_minute_(per_minute) {}

  // Counts a request. Returns 0 if it is allowed, else the whole seconds to wait.
  int seconds_to_wait(const std::string& client, Clock::time_point now);

  std::size_t n_clients() const { return clients_.size(); }

 private:
  struct Client {
    double credit;  // requests
    Clock::time_point seen;
  };
  void forget_silent(Clock::time_point now);

  const int per_minute_;
  std::unordered_map<std::string, Client> clients_;
};

}  // namespace weft::http

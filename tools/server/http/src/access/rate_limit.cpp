#include "weft/http/rate_limit.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weft::http {
namespace {

constexpr std::size_t kMaxClients = 10000;
constexpr double kRounding = 1e-6;        // seconds
constexpr std::chrono::minutes kFull{1};  // after this silence a client has all of its credit

}  // namespace

int RateLimit::seconds_to_wait(const std::string& client, Clock::time_point now) {
  const double max = per_minute_;
  if (clients_.size() >= kMaxClients) forget_silent(now);
  Client& c = clients_.try_emplace(client, Client{max, now}).first->second;
  const double seconds = std::chrono::duration<double>(now - c.seen).count();
  c.credit = std::min(max, c.credit + std::max(seconds, 0.0) * max / 60);
  c.seen = now;
  if (c.credit >= 1) {
    c.credit -= 1;
    return 0;
  }
  return static_cast<int>(std::ceil((1 - c.credit) * 60 / max - kRounding));
}

// Clients that have all of their credit again; all clients if all were active within a minute.
void RateLimit::forget_silent(Clock::time_point now) {
  std::erase_if(clients_, [&](const auto& entry) { return now - entry.second.seen > kFull; });
  if (clients_.size() >= kMaxClients) clients_.clear();
}

}  // namespace weft::http

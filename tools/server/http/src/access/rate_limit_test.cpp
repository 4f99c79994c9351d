#include "weft/http/rate_limit.h"

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using weft::Clock;
using weft::http::RateLimit;

TEST_CASE("a client's requests per minute are limited") {
  RateLimit limit(2);
  const Clock::time_point start = Clock::now();
  const auto after = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  CHECK(limit.seconds_to_wait("a", after(0)) == 0);
  CHECK(limit.seconds_to_wait("a", after(0)) == 0);
  CHECK(limit.seconds_to_wait("a", after(0)) == 30);
  CHECK(limit.seconds_to_wait("b", after(0)) == 0);
  CHECK(limit.seconds_to_wait("a", after(10)) == 20);
  CHECK(limit.seconds_to_wait("a", after(30)) == 0);
  CHECK(limit.seconds_to_wait("a", after(31)) == 29);
  for (int i = 0; i < 20000; ++i) limit.seconds_to_wait(std::to_string(i), after(40));
  CHECK(limit.n_clients() <= 10000);
}

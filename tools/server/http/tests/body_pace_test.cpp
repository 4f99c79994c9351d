#include "body_pace.h"

#include <doctest/doctest.h>

using weft::Clock;
using weft::http::BodyPace;
using weft::http::ServerOptions;
using namespace std::chrono_literals;

TEST_CASE("a body may be slow at first, not on average") {
  const ServerOptions options{.timeout = 100s, .body_grace = 20s, .min_body_rate = 500};
  BodyPace pace(options);
  const Clock::time_point start = Clock::now();
  pace.start(start);
  CHECK(pace.deadline() == start + 20s);
  CHECK(!pace.add(1, start + 10s));
  CHECK(pace.deadline() < start + 21s);
  pace.add(5000, start + 11s);
  CHECK(pace.deadline() >= start + 30s);
  CHECK(pace.deadline() < start + 31s);
  // Also a fast one may not be silent for long.
  pace.add(1 << 20, start + 12s);
  CHECK(pace.deadline() == start + 112s);
  pace.start(start + 50s);
  CHECK(pace.deadline() == start + 70s);
}

TEST_CASE("single bytes are no progress") {
  const ServerOptions options{.min_body_rate = 500};
  BodyPace pace(options);
  const Clock::time_point start = Clock::now();
  pace.start(start);
  for (int i = 1; i < 20; ++i) CHECK(!pace.add(10, start + i * 1s));
  CHECK(pace.add(10000, start + 20s));
  CHECK(!pace.add(10, start + 21s));
  CHECK(pace.add(1000, start + 22s));
}

#include "../src/probe_timer.h"

#include <vector>

#include <doctest/doctest.h>

using namespace weft::http;

TEST_CASE("probes of a client that waits come less and less often") {
  ProbeTimer timer;
  std::vector<int> seconds;
  for (int second = 0; second <= 64; ++second)
    for (int poll = 0; poll < 10; ++poll)
      if (timer.due(ProbeTimer::Time(std::chrono::milliseconds(1000 * second + 100 * poll))))
        seconds.push_back(second);
  CHECK(seconds == std::vector{0, 1, 3, 7, 15, 31, 47, 63});
}

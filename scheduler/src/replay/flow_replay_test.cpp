#include "replay/flow_replay.h"

#include <ctime>

#include <doctest/doctest.h>

#include "weft/scheduler/workers.h"

#include "machine/workers_impl.h"
#include "replay/notebook.h"

namespace weft {
namespace {

using namespace scheduler;

using test::Notebook;
using test::sleep_us;

TEST_CASE("every piece runs once, after the whole previous group, with any number of threads") {
  for (const int n : {2, 3, 6}) {
    CAPTURE(n);
    Workers workers(n);
    for (unsigned seed = 0; seed < 6; ++seed) {
      CAPTURE(seed);
      const int lanes = 2 + static_cast<int>(seed) % 3;  // fewer or more than there are threads
      Notebook job(seed, lanes, 12);
      FlowReplay replay(job, job.pieces(), workers.impl().arena);
      for (int run = 1; run <= 40; ++run) {
        if (run % 16 == 0) sleep_us(3000);  // until the threads have left the arena
        replay.run();
        REQUIRE(job.wrong(run) == 0);
        job.next_run();
      }
    }
  }
}

TEST_CASE("several flow graphs share the workers, one run at a time") {
  Workers workers(2);
  Notebook a(3, 2, 20), b(4, 2, 7);
  FlowReplay first(a, a.pieces(), workers.impl().arena),
      second(b, b.pieces(), workers.impl().arena);
  for (int run = 1; run <= 100; ++run) {
    first.run();
    second.run();
    REQUIRE(a.wrong(run) + b.wrong(run) == 0);
    a.next_run();
    b.next_run();
  }
}

TEST_CASE("an idle flow graph uses no processor time") {
  Workers workers(2);
  Notebook job(7, 2, 30);
  FlowReplay replay(job, job.pieces(), workers.impl().arena);
  replay.run();
  CHECK(test::eventually_idle());
}

}  // namespace
}  // namespace weft

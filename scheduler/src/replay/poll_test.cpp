#include "weft/scheduler/poll.h"

#include <stdexcept>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/scheduler/computation.h"

#include "support/region_backend.h"
#include "support/session.h"

namespace weft {
namespace {

Graph two_nodes() {
  Graph g;
  g.output("y", silu(silu(g.input("x", {f32, {64}}))));
  return g;
}

TEST_CASE("a poll ends a run, and later ones go on") {
  int calls = 0;
  Computation computation(two_nodes(), {.poll = [&] { return ++calls > 1; }});
  CHECK_THROWS_AS(computation.run({}), CancelledError);
  CHECK(calls == 1);
  int runs = 0;
  do {
    computation.run({});
    ++runs;
  } while (calls < 2);
  CHECK(runs > 10);  // for 50 ms it was not asked again
}

TEST_CASE("what a poll throws leaves the run") {
  Computation computation(two_nodes(), {.poll = []() -> bool { throw std::logic_error("poll"); }});
  CHECK_THROWS_WITH_AS(computation.run({}), "poll", std::logic_error);
}

struct Count final : NodeObserver {
  bool reads_values() const override { return false; }
  void begin(int) noexcept override { ++begun; }
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override { ++calls; }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override { ++ended; }
  int begun = 0, calls = 0, ended = 0;
};

TEST_CASE("a run can have an observer and a poll") {
  const Graph g = two_nodes();
  test::Memory memory;
  Workers workers(1);
  const test::RegionBackend backend;
  test::TestSession session(g, backend, {.lanes = 1}, memory, workers);
  int asked = 0;
  bool go_on = true;
  Poll poll([&] { return ++asked, go_on; });
  Count seen;
  session.executor.run({}, {.observer = &seen, .poll = &poll});
  CHECK(asked == 1);
  CHECK(seen.begun > 0);
  CHECK(seen.calls == 2);
  CHECK(seen.ended == 2);
  go_on = false;
  Count until_end;
  Poll ending([&] { return go_on; });
  CHECK_THROWS_AS(session.executor.run({}, {.observer = &until_end, .poll = &ending}),
                  CancelledError);
  CHECK(until_end.calls == 1);  // between nodes
  Count alone;
  session.executor.run({}, {.observer = &alone});  // that poll was another run's
  CHECK(alone.calls == 2);
  session.executor.run({});
  CHECK(alone.calls == 2);
}

}  // namespace
}  // namespace weft

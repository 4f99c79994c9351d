#include "weft/scheduler/poll.h"

#include <stdexcept>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/scheduler/computation.h"

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

}  // namespace
}  // namespace weft

#include "weft/check/rank_checks.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("ranks in one process pass their checks") {
  for (const Sharding& sharding :
       {Sharding{.tp = 2}, Sharding{.pp = 2}, Sharding{.tp = 3}, Sharding{.tp = 2, .pp = 2}}) {
    const auto checks = check_ranks({.sharding = sharding});
    CHECK(checks.size() == 4);
    for (const SelfCheck& check : checks) {
      CAPTURE(check.name);
      CAPTURE(check.detail);
      CHECK(check.verdict == Verdict::passed);
    }
  }
}

}  // namespace
}  // namespace weft

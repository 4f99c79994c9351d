#include "weft/check/rank_checks.h"

#include <doctest/doctest.h>

#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"

namespace weft {
namespace {

TEST_CASE("ranks in one process pass their checks") {
  for (const Sharding& sharding : {Sharding{.tp = 2}, Sharding{.pp = 2}, Sharding{.tp = 3},
                                   Sharding{.tp = 4}, Sharding{.tp = 2, .pp = 2}}) {
    const auto checks = check_ranks({.sharding = sharding});
    CHECK(checks.size() == 4);
    for (const SelfCheck& check : checks) {
      CAPTURE(check.name);
      CAPTURE(check.detail);
      CHECK(check.verdict == Verdict::passed);
    }
  }
}

TEST_CASE("ranks pass their checks with other workers, kernels and caches") {
  for (const DType cache : {f32, q8_0, q4_0}) {
    const auto checks = check_ranks({.sharding = {.tp = 2},
                                     .session = {.workers = 2,
                                                 .route = "blk.1.*=reference,*=cpu",
                                                 .cache_k = cache,
                                                 .cache_v = cache}});
    for (const SelfCheck& check : checks) {
      CAPTURE(check.name);
      CAPTURE(check.detail);
      CHECK(check.verdict == Verdict::passed);
    }
  }
}

}  // namespace
}  // namespace weft

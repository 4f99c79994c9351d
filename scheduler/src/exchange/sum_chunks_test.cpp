#include "exchange/sum_chunks.h"

#include <doctest/doctest.h>

namespace weft::scheduler {
namespace {

TEST_CASE("the sums of the model of rank checks have several chunks, of three ranks scattered") {
  constexpr std::int64_t kWidest = 512;  // as in models/check/src/rank_checks.cpp
  const SumChunks two = sum_chunks(2, kWidest, 128);
  CHECK(two.ends.size() > 1);
  CHECK_FALSE(two.scattered);
  for (const int ranks : {3, 4, 8}) {
    const SumChunks more = sum_chunks(ranks, kWidest, ranks == 3 ? 192 : 32 * ranks);
    CHECK(more.ends.size() > 1);
    CHECK(more.scattered);
  }
}

}  // namespace
}  // namespace weft::scheduler

#include "weft/check/rank_checks.h"

#include <thread>

#include <doctest/doctest.h>

#include "weft/scheduler/communicator.h"

#include "rank_messages.h"

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

TEST_CASE("another message than the one that was sent is found, and the other ranks are told") {
  const auto ranks = in_process_communicators(2);
  std::jthread other([&] {
    Communicator& own = *ranks[1];
    for (const Channel channel : {Channel::data, Channel::control}) own.send(0, channel, {});
    const std::byte wrong[1] = {};
    for (const Channel channel : {Channel::data, Channel::control}) own.send(0, channel, wrong);
    CHECK_THROWS_AS(
        {
          for (;;) own.receive(0, Channel::data, 40);
        },
        RankError);
  });
  CHECK_THROWS_WITH_AS(checks::exchange_messages(*ranks[0], 40),
                       "a message of 1 bytes from rank 1 to rank 0 arrived with other contents",
                       RankError);
}

TEST_CASE("a rank that ends is reported") {
  auto ranks = in_process_communicators(2);
  ranks[1].reset();
  CHECK_THROWS_AS(checks::exchange_messages(*ranks[0], 40), RankError);
}

}  // namespace
}  // namespace weft

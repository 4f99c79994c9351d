#include "weft/scheduler/message_check.h"

#include <thread>

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("ranks in one process get all messages as sent") {
  const auto ranks = in_process_communicators(3);
  std::string sent[3];
  {
    std::vector<std::jthread> others;
    for (std::size_t r = 0; r < 3; ++r)
      others.emplace_back([&, r] { sent[r] = check_messages(*ranks[r], 40); });
  }
  for (const std::string& text : sent)
    CHECK(text == "12 sizes up to 4.0 MiB between 3 ranks (in process), all as sent");
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
  CHECK_THROWS_WITH_AS(check_messages(*ranks[0], 40),
                       "a message of 1 bytes from rank 1 to rank 0 arrived with other contents",
                       RankError);
}

TEST_CASE("a rank that ends is reported") {
  auto ranks = in_process_communicators(2);
  ranks[1].reset();
  CHECK_THROWS_AS(check_messages(*ranks[0], 40), RankError);
}

}  // namespace
}  // namespace weft

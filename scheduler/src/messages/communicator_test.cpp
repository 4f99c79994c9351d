#include "weft/scheduler/communicator.h"

#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

namespace weft {
namespace {

using Ranks = std::vector<std::unique_ptr<Communicator>>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string next_text(Communicator& rank, int from, Channel channel) {
  const std::vector<std::byte> bytes = rank.receive(from, channel, 5);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The n bytes of the i-th message from a rank to another.
std::vector<std::byte> pattern(int from, int to, int i, std::size_t n) {
  std::vector<std::byte> bytes(n);
  std::minstd_rand random(static_cast<unsigned>(from * 10007 + to * 101 + i + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

TEST_CASE("messages arrive in order, whatever their sizes") {
  const Ranks ranks = in_process_communicators(2);
  CHECK(ranks[1]->rank() == 1);
  CHECK(ranks[1]->size() == 2);
  CHECK(ranks[1]->description() == "in process");
  for (int round = 0; round < 3; ++round) {  // the queue is empty at various places of its ring
    for (int i = 0; i < 200; ++i)
      ranks[0]->send(1, Channel::data, pattern(0, 1, i, static_cast<std::size_t>(i * i % 977)));
    for (int i = 0; i < 200; ++i) {
      CHECK(ranks[1]->receive(0, Channel::data, 5) ==
            pattern(0, 1, i, static_cast<std::size_t>(i * i % 977)));
    }
  }
  CHECK(ranks[1]->arrived(0, Channel::data) == -1);
}

TEST_CASE("a message without bytes is a message") {
  const Ranks ranks = in_process_communicators(2);
  ranks[0]->send(1, Channel::control, {});
  CHECK(ranks[1]->arrived(0, Channel::control) == 0);
  ranks[1]->receive(0, Channel::control, {}, 5);
  CHECK(ranks[1]->arrived(0, Channel::control) == -1);
}

TEST_CASE("channels and ranks do not wait for each other") {
  const Ranks ranks = in_process_communicators(3);
  ranks[0]->send(1, Channel::data, bytes_of("data"));
  ranks[0]->send(1, Channel::control, bytes_of("control"));
  ranks[2]->send(1, Channel::data, bytes_of("of 2"));
  CHECK(next_text(*ranks[1], 2, Channel::data) == "of 2");
  CHECK(next_text(*ranks[1], 0, Channel::control) == "control");
  CHECK(next_text(*ranks[1], 0, Channel::data) == "data");
}

TEST_CASE("a message of another size is an error that names the rank") {
  const Ranks ranks = in_process_communicators(3);
  ranks[2]->send(0, Channel::data, bytes_of("twelve bytes"));
  std::vector<std::byte> bytes(16);
  CHECK_THROWS_WITH_AS(ranks[0]->receive(2, Channel::data, bytes, 5),
                       "rank 2 sent 12 bytes, expected 16", RankError);
  CHECK(ranks[0]->arrived(2, Channel::data) == 12);
}

TEST_CASE("a rank that does not answer is named, and the caller is asked while it waits") {
  const Ranks ranks = in_process_communicators(3);
  int polls = 0;
  try {
    ranks[0]->receive(2, Channel::data, 0.2, [&] { ++polls; });
    FAIL("nothing was thrown");
  } catch (const RankError& error) {
    CHECK(std::string(error.what()) == "rank 2 did not answer within 0.2 s");
    CHECK(error.rank() == 2);
  }
  CHECK(polls >= 1);
  CHECK(polls <= 5);
  const auto stop = [] { throw std::logic_error("stop"); };
  const Ranks others = in_process_communicators(2);
  CHECK_THROWS_WITH_AS(others[0]->receive(1, Channel::data, 0, stop), "stop", std::logic_error);
}

TEST_CASE("what a rank sent before it was lost arrives first") {
  Ranks ranks = in_process_communicators(3);
  ranks[1]->send(0, Channel::data, bytes_of("last words"));
  ranks[1]->abandon("out of memory");
  ranks[1]->abandon("another reason");
  ranks[1].reset();
  CHECK(next_text(*ranks[0], 1, Channel::data) == "last words");
  CHECK_THROWS_WITH_AS(ranks[0]->arrived(1, Channel::data), "rank 1 is lost: out of memory",
                       RankError);
  CHECK_THROWS_WITH_AS(ranks[0]->receive(1, Channel::control, 0), "rank 1 is lost: out of memory",
                       RankError);
  CHECK_THROWS_WITH_AS(ranks[2]->send(1, Channel::data, bytes_of("hello")),
                       "rank 1 is lost: out of memory", RankError);
  ranks[2].reset();
  CHECK_THROWS_WITH_AS(ranks[0]->receive(2, Channel::data, 0), "rank 2 is lost: it ended",
                       RankError);
}

TEST_CASE("a rank is lost while another one waits for it") {
  Ranks ranks = in_process_communicators(2);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ranks[1]->send(0, Channel::data, bytes_of("last words"));
    ranks[1].reset();
  });
  CHECK(next_text(*ranks[0], 1, Channel::data) == "last words");
  CHECK_THROWS_AS(ranks[0]->receive(1, Channel::data, 0), RankError);
}

// The messages of a rank that runs on its own thread; returns how many were wrong.
int exchange(Communicator& rank, int messages) {
  int wrong = 0;
  std::minstd_rand random(static_cast<unsigned>(rank.rank() + 1));
  for (int i = 0; i < messages; ++i) {
    for (int to = 0; to < rank.size(); ++to) {
      if (to == rank.rank()) continue;
      for (const Channel channel : {Channel::data, Channel::control})
        rank.send(to, channel, pattern(rank.rank(), to, i, random() % 5000));
    }
    for (int from = 0; from < rank.size(); ++from) {
      if (from == rank.rank()) continue;
      for (const Channel channel : {Channel::control, Channel::data}) {
        const std::vector<std::byte> bytes = rank.receive(from, channel, 60);
        wrong += bytes != pattern(from, rank.rank(), i, bytes.size());
      }
    }
  }
  return wrong;
}

TEST_CASE("four ranks send each other messages of random sizes") {
  constexpr int kRanks = 4;
  const Ranks ranks = in_process_communicators(kRanks);
  std::vector<int> wrong(kRanks, -1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kRanks; ++i)
      threads.emplace_back([&, i] { wrong[i] = exchange(*ranks[i], 200); });
  }
  CHECK(wrong == std::vector<int>(kRanks, 0));
}

TEST_CASE("the number of ranks in a process is checked") {
  CHECK(in_process_communicators(1024).size() == 1024);
  CHECK_THROWS_WITH_AS(in_process_communicators(0), "ranks must be 1 to 1024, got 0", ValueError);
  CHECK_THROWS_AS(in_process_communicators(1025), ValueError);
}

TEST_CASE("launchers are found by their environment variables") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"})
    unsetenv(name);
  CHECK(launched_ranks() == 1);
  CHECK_THROWS_AS(launched_communicator(), UnsupportedError);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  CHECK(launched_ranks() == 1);
  setenv("PMIX_RANK", "0", 1);
  CHECK(launched_ranks() == 8);
  setenv("PMI_SIZE", "4", 1);
  CHECK(launched_ranks() == 4);
  setenv("OMPI_COMM_WORLD_SIZE", "2 or 3", 1);
  CHECK_THROWS_WITH_AS(
      launched_ranks(),
      "OMPI_COMM_WORLD_SIZE: expected a number of ranks from 1 to 1048576, got '2 or 3'",
      ValueError);
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "PMIX_RANK"})
    unsetenv(name);
}

}  // namespace
}  // namespace weft

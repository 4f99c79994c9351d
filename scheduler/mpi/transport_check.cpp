// weft_transport_check [abandon], started by mpirun: every rank sends every other one messages of
// many sizes and checks those that it receives. With `abandon`, rank 1 gives up, and the others
// must report its reason.

#include <cstdio>
#include <exception>
#include <random>
#include <string_view>
#include <vector>

#include "weft/scheduler/communicator.h"

namespace {

using weft::Channel;
using weft::Communicator;

constexpr double kSeconds = 40;
// Around what MPIs send at once, and what they send only when the receiver is ready.
constexpr std::size_t kSizes[] = {0,    1,     7,     64,    1000,   4095,
                                  4096, 16385, 65536, 70000, 300001, 4 << 20};

std::vector<std::byte> content(int from, int to, Channel channel, std::size_t n) {
  std::vector<std::byte> bytes(n);
  std::minstd_rand random(
      static_cast<unsigned>(from * 10007 + to * 101 + static_cast<int>(channel) + 1));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

void expect(Communicator& rank, int from, Channel channel, std::size_t n) {
  std::vector<std::byte> bytes(n);
  rank.receive(from, channel, bytes, kSeconds);
  if (bytes != content(from, rank.rank(), channel, n))
    throw weft::RankError(from, fmt::format("rank {} sent {} other bytes", from, n));
}

// All messages of a size are under way before the first one is taken, and the channel that was
// served last is asked first.
void exchange_all(Communicator& rank, std::size_t n) {
  for (int to = 0; to < rank.size(); ++to) {
    if (to == rank.rank()) continue;
    for (const Channel channel : {Channel::data, Channel::control})
      rank.send(to, channel, content(rank.rank(), to, channel, n));
  }
  for (int from = 0; from < rank.size(); ++from) {
    if (from == rank.rank()) continue;
    for (const Channel channel : {Channel::control, Channel::data}) expect(rank, from, channel, n);
  }
}

void many_sizes(Communicator& rank) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t n : kSizes) exchange_all(rank, n);
  }
  if (rank.rank() == 0) {
    std::printf("ok %d ranks, %s\n", rank.size(), std::string(rank.description()).c_str());
  }
}

// Rank 0 also leaves a message behind that nobody takes.
void abandoned(Communicator& rank) {
  constexpr std::size_t kBytes = 300001;
  if (rank.rank() == 1) {
    for (int to = 0; to < rank.size(); ++to) {
      if (to != 1) rank.send(to, Channel::data, content(1, to, Channel::data, kBytes));
    }
    return rank.abandon("the disk is full");
  }
  if (rank.rank() == 0) rank.send(1, Channel::data, content(0, 1, Channel::data, kBytes));
  expect(rank, 1, Channel::data, kBytes);
  try {
    rank.receive(1, Channel::data, kSeconds);
  } catch (const weft::RankError& error) {
    if (error.what() != std::string_view("rank 1 is lost: the disk is full")) throw;
    if (rank.rank() == 0) std::printf("ok %d ranks, %s\n", rank.size(), error.what());
    return;
  }
  throw weft::RankError(1, "rank 1 gave up and still sent a message");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && mode != "abandon")) {
    std::fprintf(stderr, "usage: weft_transport_check [abandon]\n");
    return 2;
  }
  try {
    Communicator& rank = weft::launched_communicator();
    if (rank.size() != weft::launched_ranks() || rank.size() < 2) {
      std::fprintf(stderr, "%d ranks, the launcher says %d, expected at least 2\n", rank.size(),
                   weft::launched_ranks());
      return 1;
    }
    mode.empty() ? many_sizes(rank) : abandoned(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

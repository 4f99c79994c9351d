// weft_transport_check [abandon], started by mpirun: check_messages() three times. With `abandon`,
// rank 1 gives up, and the others must report its reason.

#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "weft/scheduler/communicator.h"
#include "weft/scheduler/message_check.h"

namespace {

using weft::Channel;
using weft::Communicator;

constexpr double kSeconds = 40;

void many_sizes(Communicator& rank) {
  for (int round = 0; round < 3; ++round) weft::check_messages(rank, kSeconds);
  if (rank.rank() == 0) {
    std::printf("ok %d ranks, %s\n", rank.size(), std::string(rank.description()).c_str());
  }
}

// Rank 0 also leaves a message behind that nobody takes.
void abandoned(Communicator& rank) {
  std::vector<std::byte> message(300001, std::byte{7});
  if (rank.rank() == 1) {
    for (int to = 0; to < rank.size(); ++to) {
      if (to != 1) rank.send(to, Channel::data, message);
    }
    return rank.abandon("the disk is full");
  }
  if (rank.rank() == 0) rank.send(1, Channel::data, message);
  rank.receive(1, Channel::data, message, kSeconds);
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

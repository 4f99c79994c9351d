#include "weft/scheduler/rank_link.h"

namespace weft {
namespace {

// Enough for both ranks to compute all the time.
constexpr int kMaxInFlight = 2;

}  // namespace

RankLink::RankLink(Communicator& communicator, double timeout)
    : communicator_(&communicator),
      rank_(communicator.rank()),
      timeout_(timeout),
      in_flight_(static_cast<std::size_t>(communicator.size())) {}

void RankLink::wait_for_room(int to) {
  int& in_flight = in_flight_[static_cast<std::size_t>(to)];
  for (; in_flight >= kMaxInFlight; --in_flight)
    communicator_->receive(to, Channel::credit, {}, timeout_);
}

// A rank that has sent its last tensor may have ended. If it is lost, the next wait for it says so.
void RankLink::taken(int from) {
  try {
    communicator_->send(from, Channel::credit, {});
  } catch (const RankError&) {
  }
}

}  // namespace weft

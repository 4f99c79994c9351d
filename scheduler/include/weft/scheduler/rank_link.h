#pragma once
// What the collective ops of plans exchange through: the endpoint of this rank, and what outlives
// the runs in which they exchange.
//
// A rank that stops in the middle of a run, because it was cancelled or failed, tells the others so
// in place of what it would have sent in the rest of the run, and takes what they send. So all
// ranks end the run together, and the next one begins in order.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/scheduler/communicator.h"

namespace weft {

// One per rank and model: plans of all its sessions may share it, if they run one after the other
// in the same order on all ranks.
class RankLink {
 public:
  // `communicator` outlives the link. `timeout`: seconds until the next message of a rank, at most;
  // the same on all ranks.
  explicit RankLink(Communicator& communicator, double timeout = 600);
  // A rank without others, to time what it computes: nothing is sent, and what would be received is
  // undefined.
  explicit RankLink(int rank) : rank_(rank) {}
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  bool has_others() const { return communicator_ != nullptr; }
  // REQUIRES: has_others().
  Communicator& communicator() const { return *communicator_; }
  int rank() const { return rank_; }
  double timeout() const { return timeout_; }

  // A rank was lost, or ranks do not agree about what comes next: no run can succeed any more.
  const std::optional<RankError>& loss() const { return loss_; }
  std::int64_t runs() const { return runs_; }  // that have begun; the same number on all ranks

  // The rest is for executors and the exchanges of their plans.

  void begin_run() { ++runs_; }
  void lose(const RankError& why) { loss_ = why; }

  // How far the stages of a model may be ahead of each other: of the tensors that a rank sends to
  // the next stage, a few may be waiting there. REQUIRES: has_others().
  //
  // Waits until another tensor may be sent. Throws RankError.
  void wait_for_room(int to);
  void sent(int to) { ++in_flight_[static_cast<std::size_t>(to)]; }
  void taken(int from);  // tells that rank

 private:
  Communicator* const communicator_ = nullptr;  // null: there are no others
  const int rank_;
  const double timeout_ = 0;
  std::optional<RankError> loss_;
  std::int64_t runs_ = 0;
  std::vector<int> in_flight_;  // by rank: tensors that it was sent and has not taken
};

}  // namespace weft

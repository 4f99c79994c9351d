#pragma once
// What the collective ops of plans exchange through: the endpoint of this rank, and how the run in
// progress goes on all ranks.
//
// A rank that stops in the middle of a run, because it was cancelled or failed, tells the others so
// in place of what it would have sent in the rest of the run, and takes what they send. So all
// ranks end the run together, and the next one begins in order.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weft/scheduler/communicator.h"

namespace weft {

class Executor;
namespace scheduler {
class Exchange;
}

// One per rank and model: plans of all its sessions may share it, if they run one after the other
// in the same order on all ranks.
class RankLink {
 public:
  // `communicator` outlives the link.
  explicit RankLink(Communicator& communicator)
      : communicator_(&communicator),
        rank_(communicator.rank()),
        in_flight_(static_cast<std::size_t>(communicator.size())) {}
  // A rank without others, to time what it computes: nothing is sent, and what would be received is
  // undefined.
  explicit RankLink(int rank) : rank_(rank) {}
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  // REQUIRES: there are others.
  Communicator& communicator() const { return *communicator_; }
  int rank() const { return rank_; }
  // A rank was lost, or ranks do not agree about what comes next: no run can succeed any more.
  const std::optional<RankError>& loss() const { return loss_; }
  std::int64_t runs() const { return runs_; }  // that have begun; the same number on all ranks

  // Set between runs, in the same way on all ranks.
  double timeout = 600;  // seconds until the next message of a rank, at most
  bool results = true;   // somebody wants the results of the next run (PeerAttrs::result)
  // Set before a run: throws Error if what this rank has computed cannot be used. Is called before
  // results are sent, by any worker and while others compute.
  std::function<void()> check = [] {};

 private:
  friend class scheduler::Exchange;
  friend class Executor;

  void begin_run() {
    ++runs_;
    done_ = 0;
    ended_ = false;
  }

  Communicator* const communicator_ = nullptr;  // null: there are no others
  const int rank_;
  std::optional<RankError> loss_;
  std::int64_t runs_ = 0;
  std::vector<int> in_flight_;     // by rank: tensors that it was sent and has not taken
  std::vector<std::byte> parcel_;  // the message that is sent
  // How the run in progress goes.
  std::atomic<std::size_t> done_ = 0;  // exchanges that are complete
  std::atomic<bool> ended_ = false;    // it does not go on, on this rank or another
};

}  // namespace weft

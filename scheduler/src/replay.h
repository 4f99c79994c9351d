#pragma once
// How a plan is run by several workers. Two implementations: `flow`, a oneTBB flow graph whose
// nodes are the pieces of the plan (flow_replay.h), and `crew`, workers that spin at a join and
// claim pieces (crew.h). Both give the same bits, since what a piece computes does not depend on
// who runs it, and both leave the calling thread able to do everything alone: no run waits for a
// thread that did not come.

#include <memory>
#include <span>
#include <vector>

#include "weft/scheduler/pieces.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/workers.h"

namespace weft::scheduler {

struct ReplayStage {
  int shares = 1;  // per lane, 1 to kMaxShares
  bool with_copies = false;
};
inline constexpr int kMaxShares = 7;
// Plans with more lanes have one share per lane: each call is prepared for every worker that may
// make it.
inline constexpr int kMaxSharedLanes = 8;

// What a run does. Outlives its Replay; `share` and `copies` do not throw. `worker` is 0 to lanes -
// 1; a worker runs one piece at a time.
class ReplayJob {
 public:
  virtual std::span<const ReplayStage> stages() const = 0;
  virtual int lanes() const = 0;
  // `index` numbers the shares of all lanes: lane l owns shares * l and those that follow.
  virtual void share(int stage, int index, int worker) noexcept = 0;
  virtual void copies(int stage, int lane, int worker) noexcept = 0;

 protected:
  ~ReplayJob() = default;
};

// Built once per plan; run() allocates nothing. One run at a time per Workers.
class Replay {
 public:
  virtual ~Replay() = default;
  // Runs the whole job; the calling thread takes part.
  virtual void run() = 0;
};

// REQUIRES: kind is crew or flow; there are at least two workers and lanes; `pieces` are those of
// the job's plan. `job` and `workers` outlive it.
std::unique_ptr<Replay> make_replay(ReplayKind kind, ReplayJob& job,
                                    const std::vector<PieceGroup>& pieces, Workers& workers);

}  // namespace weft::scheduler

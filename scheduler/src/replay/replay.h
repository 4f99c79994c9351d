#pragma once
// Runs a plan with several workers. There are two implementations: `flow`, a oneTBB flow graph
// whose nodes are the pieces of the plan (flow_replay.h), and `crew`, workers that spin at a join
// and claim pieces (crew.h). Both give the same bits, because the result of a piece does not depend
// on the worker. With both, the calling thread can do everything alone: no run waits for a thread
// that did not start.

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
// Plans with more lanes than this have one share per lane, because each call is prepared for every
// worker that may make it.
inline constexpr int kMaxSharedLanes = 8;

// The work of a run. Outlives its Replay; `share` and `copies` do not throw. `worker` is 0 to
// lanes - 1; a worker runs one piece at a time.
class ReplayJob {
 public:
  virtual std::span<const ReplayStage> stages() const = 0;
  virtual int lanes() const = 0;
  // `index` counts the shares of all lanes: those of lane l start at shares * l.
  virtual void share(int stage, int index, int worker) noexcept = 0;
  virtual void copies(int stage, int lane, int worker) noexcept = 0;

 protected:
  ~ReplayJob() = default;
};

// Built once per plan; run() does not allocate. One run at a time per Workers.
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

#pragma once
// Runs a plan with several workers. There are two implementations: `flow`, a oneTBB flow graph
// whose nodes are the pieces of the plan (flow_replay.h), and `crew`, workers that spin at a join
// and claim pieces (machine/crew.h). Both give the same bits, because the result of a piece does
// not depend on the worker. With both, the calling thread can do everything alone: no run waits for
// a thread that did not start.

#include <memory>
#include <vector>

#include "weft/scheduler/pieces.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/workers.h"

#include "machine/replay_job.h"

namespace weft::scheduler {

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

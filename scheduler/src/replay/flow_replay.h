#pragma once
// Runs a plan as a oneTBB flow graph. Every piece of the plan is a continue_node. A join is edges
// between the nodes of two groups, or a node that joins many pieces. The task arena limits the
// number of workers; an idle worker takes any piece that is ready.
//
// workers_impl.h explains why a run does not allocate.

#include <memory>
#include <vector>

#include <oneapi/tbb/task_arena.h>

#include "replay/replay.h"

namespace weft::scheduler {

class FlowReplay final : public Replay {
 public:
  // REQUIRES as make_replay().
  FlowReplay(ReplayJob& job, const std::vector<PieceGroup>& pieces, oneapi::tbb::task_arena& arena);
  ~FlowReplay() override;
  void run() override;

 private:
  class Graph;  // keeps the headers of oneTBB's flow graph out of other files

  oneapi::tbb::task_arena& arena_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace weft::scheduler

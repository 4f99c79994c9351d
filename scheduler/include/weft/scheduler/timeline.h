#pragma once
// When each lane of a plan works on what, from rough rates of a core: those that the planner
// reckons with, good enough to see where lanes wait.

#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft {

struct LaneWork {
  std::size_t step = 0;  // of Plan::steps
  int lane = 0;
  double begin_ns = 0, end_ns = 0;
};

struct Timeline {
  std::vector<LaneWork> work;      // stage by stage, lane by lane, in order
  std::vector<double> joins_ns;    // when lanes meet: between stages and, of several, at the end
  std::vector<double> lanes_busy;  // by lane
  double ns = 0;                   // of the run: Plan::predicted_ns
};

// REQUIRES: the plan is of this graph.
Timeline estimate_timeline(const Graph& graph, const Plan& plan);

// The longest chain of steps of which each needs the one before, where step i takes step_ns[i]: no
// order and no number of joins make the run shorter while steps are cut among lanes as they are.
double critical_path_ns(const Graph& graph, const Plan& plan, std::span<const double> step_ns);

// How long each step takes: the time of the lane that takes longest.
std::vector<double> longest_by_step(const Plan& plan, const Timeline& timeline);

// Most bytes of the arena that are alive in a stage, and the first one of which that is true.
struct PeakStage {
  std::int32_t stage = 0;
  std::int64_t bytes = 0;
};
PeakStage peak_stage(const Plan& plan);
std::vector<std::int64_t> live_bytes_by_stage(const Plan& plan);

}  // namespace weft

#pragma once
// An estimate of when each lane of a plan runs each step. Uses the planner's rough rates of a core:
// good enough to see where lanes wait.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft {

struct LaneWork {
  std::size_t step = 0;  // index into Plan::steps
  int lane = 0;
  double begin_ns = 0, end_ns = 0;
};

struct Timeline {
  std::vector<LaneWork> work;    // stage by stage, lane by lane, in order
  std::vector<double> joins_ns;  // times of joins: between stages and, for several lanes, at the
                                 // end
  std::vector<double> busy_ns;   // by lane
  double ns = 0;                 // time of the whole run: Plan::predicted_ns
};

// A kernel call within one step that was measured, times since its begin.
struct TimedCall {
  std::string path;
  int worker = 0;
  std::int32_t stage = 0;
  double begin_ns = 0, end_ns = 0;
};
struct TimedStep {
  double ns = 0;
  std::vector<TimedCall> calls;
};

// REQUIRES: the plan is of this graph.
Timeline estimate_timeline(const Graph& graph, const Plan& plan);

// The length of the critical path, if step i takes step_ns[i]. A lower bound of the run's duration
// for any order and any number of joins, as long as steps are divided among lanes as they are.
double critical_path_ns(const Graph& graph, const Plan& plan, std::span<const double> step_ns);

// The duration of each step: that of its slowest lane.
std::vector<double> longest_by_step(const Plan& plan, const Timeline& timeline);

// Lower bounds of a run's time, and its time.
struct PlanBounds {
  double critical_ns = 0;  // the longest chain of steps
  double lane_ns = 0;      // all work, shared evenly by the lanes
  double ns = 0;
};
PlanBounds estimate_bounds(const Graph& graph, const Plan& plan);

// The first stage with the maximum of live bytes in the arena.
struct PeakStage {
  std::int32_t stage = 0;
  std::int64_t bytes = 0;
};
PeakStage peak_stage(const Plan& plan);
std::vector<std::int64_t> live_bytes_by_stage(const Plan& plan);

}  // namespace weft

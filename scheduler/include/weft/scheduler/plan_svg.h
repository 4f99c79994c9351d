#pragma once
// Draws a plan: the tensors in the arena over the steps, and the work of each lane over time.

#include <string>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/timeline.h"

namespace weft {

struct PlanPicture {
  std::string title = {};  // empty: the name of the plan
  std::string facts = {};  // lines below it; empty: the numbers of steps, stages and joins
  std::int64_t first_layer = 0, last_layer = -1;  // only their steps; -1: all
  const TimedStep* measured = nullptr;            // used instead of the estimate
};

// Well-formed SVG.
std::string plan_svg(const Graph& graph, const Plan& plan, const PlanPicture& options = {});

}  // namespace weft

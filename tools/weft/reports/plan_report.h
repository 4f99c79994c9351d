#pragma once
// A plan as text: what it needs, what was given up for it, and how fast it could be.

#include <string>

#include "weft/run/memory_plan.h"
#include "weft/scheduler/profiled_plan.h"

namespace weft::tools {

// The arena at its peak, joins, and lower bounds of the plan's time: estimated, or as measured if
// there is a profile. Two lines.
std::string bounds_text(const Graph& graph, const Plan& plan, const ProfiledPlan* profile);

// The model, the session, all memory, drafts, concessions and the mode of the weights.
std::string plan_head(const Model& model, const MemoryOffer& offer);

}  // namespace weft::tools

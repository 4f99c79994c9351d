#pragma once

#include "weft/scheduler/plan.h"

#include "plan/sketch.h"

namespace weft::scheduler {

// Fills the plan's placements and its arena sizes. REQUIRES: `plan.lanes` and `plan.stages` are
// set.
void place_all(const Sketch& sketch, bool reuse, Plan& plan);

}  // namespace weft::scheduler

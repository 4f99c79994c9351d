#pragma once

#include "weft/scheduler/plan.h"

#include "plan/draft.h"

namespace weft::scheduler {

// Fills the plan's placements and its arena sizes. REQUIRES: `plan.lanes` and `plan.stages` are
// set.
void place_all(const Draft& draft, bool reuse, Plan& plan);

}  // namespace weft::scheduler

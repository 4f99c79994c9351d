#pragma once

#include "weft/scheduler/plan.h"

#include "draft.h"

namespace weft {

// Fills the plan's placements and its arena sizes. REQUIRES: `plan.lanes` and `plan.stages` are
// set.
void place_all(const Draft& draft, bool reuse, Plan& plan);

}  // namespace weft

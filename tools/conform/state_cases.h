#pragma once
// Conformance cases of the ops that update a state (weft/ops/recurrent/state_rows.h).

#include <vector>

#include "conform/cases.h"

namespace weft::conform {

void add_state_cases(std::vector<Case>& cases);

}  // namespace weft::conform

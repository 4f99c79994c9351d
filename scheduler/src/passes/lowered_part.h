#pragma once
// Lowering is for one backend only: nodes of plug-ins, and their inputs, must not change.

#include <string_view>

#include "weft/scheduler/routing.h"

namespace weft::scheduler {

// `after` is the result of a pass on `before`. Returns `before` with those changes of `after` that
// the assignment allows.
Graph lowered_part(const Graph& before, Graph after, const Assignment& assignment,
                   std::string_view pass_name);

}  // namespace weft::scheduler

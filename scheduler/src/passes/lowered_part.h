#pragma once
// Lowering is one backend's; nodes of plug-ins and what they read must stay as they are.

#include <string_view>

#include "weft/scheduler/routing.h"

namespace weft::scheduler {

// `after`, which a pass made of `before`, as far as the assignment allows: in all else `before`.
Graph lowered_part(const Graph& before, Graph after, const Assignment& assignment,
                   std::string_view pass_name);

}  // namespace weft::scheduler

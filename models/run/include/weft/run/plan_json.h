#pragma once
// The plans of a session as JSON.

#include <string>
#include <vector>

#include "weft/backends/tunables.h"
#include "weft/run/memory_plan.h"

namespace weft {

// Everything that `weft plan --json` prints, as an object with a newline at the end: options as
// resolved, "weights", "memory" by purpose, "tuned", "concessions", and "plans", each as
// Plan::to_json() writes it, with "executor", "critical_path_ns" and "work_per_lane_ns", which are
// estimates. Throws as cpu_backend().
std::string to_json(const Model& model, const MemoryOffer& offer);

// The tunables of the cpu backend that matter to the weights of the plans. Throws as cpu_backend().
std::vector<Tunable> tunables_of(const PlannedModel& planned);

}  // namespace weft

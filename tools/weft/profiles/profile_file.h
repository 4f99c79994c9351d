#pragma once
// Reads the output of `weft profile` about plans, a trace (-o FILE) or a report (--json), for
// pictures of the same plans: also on another machine.

#include <string>

#include "weft/graph/graph.h"
#include "weft/measure/profile_times.h"
#include "weft/run/session.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/timeline.h"

namespace weft::tools {

// Context, workers, place of the weights and instruction set that `options` leaves open become
// those of the profile, as far as this machine has them. Throws IoError, and FormatError if the
// file is neither a trace nor a report.
ProfileFile read_profile(const std::string& path, SessionOptions& options);
// The part that is of `plan`. Throws ValueError if the profile has none, because it is of
// another model or was made with other settings, and names the first node that differs.
const ProfiledPlan& profile_of(const ProfileFile& profile, const std::string& path,
                               const Graph& graph, const Plan& plan);
// The step of median length of the plan of that name. Throws ValueError if the file is a report.
TimedStep read_median_step(const std::string& path, const std::string& plan);

}  // namespace weft::tools

#pragma once
// The output of `weft profile` about plans, as a trace (-o FILE) or a report (--json), for pictures
// of the same plans: also on another machine.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/run/session.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/timeline.h"

namespace weft::tools {

struct ProfiledNode {
  std::string path, kernel;
  double ns = 0;     // time of all workers together, mean of the steps
  double bytes = 0;  // the same, at the measured depth
};

struct ProfiledPlan {
  std::string name, signature;
  std::int64_t steps = 0;
  double wall_ns = 0;  // mean of the steps
  std::vector<ProfiledNode> nodes;

  const ProfiledNode* find(std::string_view path) const;
};

struct ProfileFile {
  std::string model, weights, backend, route;
  std::string isa;  // the cpu backend's: "avx2"
  std::int64_t context = 0;
  int workers = 0;
  std::vector<ProfiledPlan> plans;
};

// The instruction set of the cpu backend as `--backend cpu:NAME` takes it.
std::string cpu_isa_name();

// The same for all plans whose nodes can be compared one by one: it has paths, ops, types, shapes
// except for their varying dimensions, backends, stages and lanes; neither the length of the
// context nor kernels.
std::string plan_signature(const Graph& graph, const Plan& plan);

std::string to_json(const ProfileFile& profile);
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

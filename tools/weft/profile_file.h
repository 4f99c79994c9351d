#pragma once
// What a trace file of `weft profile` says about plans, for pictures of the same plans.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/models/session.h"
#include "weft/scheduler/plan.h"

namespace weft::tools {

struct ProfiledNode {
  std::string path;
  double ns = 0;     // of all workers together, mean of the steps
  double bytes = 0;  // likewise, at the depth that was measured
};

struct ProfiledPlan {
  std::string name, signature;
  std::int64_t steps = 0;
  double wall_ns = 0;  // mean of the steps
  std::vector<ProfiledNode> nodes;

  const ProfiledNode* find(std::string_view path) const;
};

struct ProfileFile {
  std::string model, weights, backend;
  std::int64_t context = 0;
  int workers = 0;
  std::vector<ProfiledPlan> plans;
};

// A kernel call within one step, times since its begin.
struct TimedCall {
  std::string path;
  int worker = 0;
  std::int32_t stage = 0;
  double begin_ns = 0, end_ns = 0;
};
struct TimedStep {
  double ns = 0;
  std::vector<TimedCall> calls;
};

// What plans have in common whose nodes can be compared one by one: paths, ops, types, shapes but
// for what varies, kernels, stages and lanes; not the length of the context.
std::string plan_signature(const Graph& graph, const Plan& plan);

// "12.3 us"
std::string human_ns(double ns);

std::string to_json(const ProfileFile& profile);
// Context and workers that `options` leaves open become those of the profile. Throws IoError, and
// FormatError where the file is no such trace.
ProfileFile read_profile(const std::string& path, SessionOptions& options);
// The part that is of `plan`. Throws ValueError where the profile has none: it is of another model,
// or was made with other settings.
const ProfiledPlan& profile_of(const ProfileFile& profile, const std::string& path,
                               const Graph& graph, const Plan& plan);
// The step of median length of the plan of that name.
TimedStep read_median_step(const std::string& path, const std::string& plan);

}  // namespace weft::tools

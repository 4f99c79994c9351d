#pragma once
// What a profile says about the nodes of a plan.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft {

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

  const ProfiledNode* find(std::string_view path) const;  // null if there is none
};

// The same for all plans whose nodes can be compared one by one: it has paths, ops, types, shapes
// except for their varying dimensions, backends, stages and lanes; neither the length of the
// context nor kernels.
std::string plan_signature(const Graph& graph, const Plan& plan);

}  // namespace weft

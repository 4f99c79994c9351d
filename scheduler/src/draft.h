#pragma once
// What the planner knows about each node while it works. Filled step by step, in this order:
// find_kernels, choose_splits, choose_cols, choose_stages, repair_splits, choose_shares.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/graph/graph.h"
#include "weft/graph/memory_id.h"
#include "weft/graph/per_node.h"
#include "weft/scheduler/routing.h"

#include "lanes.h"

namespace weft::scheduler {

// A part of a row that is at most one of this many parts may be given to one lane whole.
inline constexpr std::int64_t kSmallPart = 4;

// What the planner assumes. A join of two lanes takes 0.2 us if both come at once, and they never
// quite do; a kernel called for nothing takes some tens of nanoseconds.
inline constexpr double kJoinNs = 600;
// What a join of a flow graph takes beyond one of a crew: messages, and a task for each piece.
inline constexpr double kFlowExtraNs = 800;
inline constexpr double kCallNs = 40;
// What each further lane that repeats work costs the others: bandwidth, cache, heat.
inline constexpr double kCopyBurden = 0.25;

// One op node that does work at run time. Views and everything that is not an op have `works`
// false.
struct Work {
  bool works = false;
  Kernel kernel;
  Cost cost;             // at the bounds
  double ns = 0;         // rough time on one lane, for choices only
  double shared_ns = 0;  // of that, for weights and states of which every row needs all
  lanes::Share share;
  std::vector<std::int64_t>
      cuts;  // Split::cols: multiples at which to cut, best first, the op's own granule last
  std::int32_t stage = 0;
  std::vector<lanes::Cols> parts;  // Split::cols in a stage of several shares per lane: per share
};

struct Draft {
  const Graph& graph;
  int lanes = 1;
  PerNode<Work> works;
  std::vector<int> shares;             // by stage: per lane
  PerNode<std::vector<NodeId>> users;  // through views: the works that read a node's memory
  std::vector<Device*> devices;        // device_memory(i) is that of devices[i]

  // Where a node's kernel leaves its output.
  MemoryId memory_of(const Kernel& kernel) const {
    const auto at = std::find(devices.begin(), devices.end(), kernel.device);
    if (at == devices.end()) return MemoryId::host;
    return device_memory(static_cast<std::size_t>(at - devices.begin()));
  }
  Work& operator[](NodeId id) { return works[id]; }
  const Work& operator[](NodeId id) const { return works[id]; }
};

// Throws UnsupportedError naming the first node without a kernel.
Draft find_kernels(const Graph& graph, const Assignment& assignment, int lanes);
void choose_splits(Draft& draft);
void choose_cols(Draft& draft);
void choose_stages(Draft& draft);
void repair_splits(Draft& draft);
void choose_shares(Draft& draft, double share_ns);

// Fills the rough times of `work` from its cost.
void estimate(const Graph& graph, const Node& node, Work& work);
// What part of the node's time one of so many lanes spends on it.
double part_of_lane(const Node& node, const Work& work, int lanes, int lane);

// Who runs a plan of several lanes. Sets Plan::replay and its reason.
void choose_replay(std::optional<ReplayKind> wanted, Plan& plan);

// Rough time of a run at the bounds, in these lanes and in one.
double predict_ns(const Draft& draft);
double predict_alone_ns(const Draft& draft);

}  // namespace weft::scheduler

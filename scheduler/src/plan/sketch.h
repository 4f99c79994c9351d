#pragma once
// A sketch of a plan: the planner's working data per node. Filled step by step, in this order:
// find_kernels, choose_splits, choose_cols, choose_stages, repair_splits, choose_shares.

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/graph/graph.h"
#include "weft/graph/memory_id.h"
#include "weft/graph/per_node.h"
#include "weft/scheduler/routing.h"

#include "plan/lanes.h"

namespace weft::scheduler {

// A part of a row may be given to a single lane if it is at most 1 / kSmallPart of the row.
inline constexpr std::int64_t kSmallPart = 4;

// The planner's assumptions. A join of two lanes takes 0.2 us if both arrive at the same time,
// which they rarely do; an empty kernel call takes some tens of nanoseconds.
inline constexpr double kJoinNs = 600;
// The additional time of a join in a flow graph: messages, and a task for each piece.
inline constexpr double kFlowExtraNs = 800;
inline constexpr double kCallNs = 40;
// The cost of each further lane that repeats work, for the others: bandwidth, cache, heat.
inline constexpr double kCopyOverhead = 0.25;

// One op node that does work at run time. `works` is false for views and for nodes that are not
// ops.
struct Work {
  bool works = false;
  Kernel kernel;
  Cost cost;             // at the bounds
  double ns = 0;         // rough time on one lane, for choices only
  double shared_ns = 0;  // the part of ns for weights and states that every row needs completely
  lanes::Share share;
  std::vector<std::int64_t>
      cuts;  // Split::cols: multiples at which to split, best first, the op's own granule last
  std::int32_t stage = 0;
  std::vector<lanes::Cols> parts;  // Split::cols in a stage of several shares per lane: per share
};

struct Sketch {
  const Graph& graph;
  int lanes = 1;
  PerNode<Work> works;
  std::vector<int> shares;             // by stage: per lane
  PerNode<std::vector<NodeId>> users;  // through views: the works that read a node's memory
  std::vector<Device*> devices;        // device_memory(i) is that of devices[i]

  // The memory of a kernel's output.
  MemoryId memory_of(const Kernel& kernel) const { return lanes::memory_of(kernel, devices); }
  Work& operator[](NodeId id) { return works[id]; }
  const Work& operator[](NodeId id) const { return works[id]; }
};

// Throws UnsupportedError naming the first node without a kernel.
Sketch find_kernels(const Graph& graph, const Assignment& assignment, int lanes);
void choose_splits(Sketch& sketch);
void choose_cols(Sketch& sketch);
void choose_stages(Sketch& sketch);
void repair_splits(Sketch& sketch);
void choose_shares(Sketch& sketch, double share_ns);

// Fills the rough times of `work` from its cost.
void estimate(const Graph& graph, const Node& node, Work& work);
// The fraction of the node's time that lane `lane` of `lanes` spends on it.
double part_of_lane(const Node& node, const Work& work, int lanes, int lane);

// Chooses who runs a plan with several lanes. Sets Plan::replay and its reason.
void choose_replay(std::optional<ReplayKind> wanted, Plan& plan);

// The rough time of a run at the bounds, with the sketch's lanes and with one.
double predict_ns(const Sketch& sketch);
double predict_alone_ns(const Sketch& sketch);

}  // namespace weft::scheduler

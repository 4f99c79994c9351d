// Revises splits after columns and stages were chosen. choose_splits() assumes that a node's
// columns can be those that its readers need. If granules do not allow that (heads of 48 elements,
// blocks of 32), there is a join before and after the node. If such a node is small, every lane
// computes all of it instead.

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

bool waits_for_other_lanes(const Sketch& sketch, NodeId id) {
  const Node& node = sketch.graph[id];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const Reach reach = node.op->input(i).reach;
    if (reach != Reach::same && reach != Reach::col) continue;
    const NodeId maker = lanes::source_of(sketch.graph, node.inputs[i]).node;
    if (sketch[maker].works && sketch[maker].share.split == Split::cols &&
        sketch[maker].stage < sketch[id].stage)
      return true;
  }
  return false;
}

}  // namespace

void repair_splits(Sketch& sketch) {
  std::vector<NodeId> small;
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    const Work& work = sketch[id];
    if (work.works && work.share.split == Split::cols && work.ns < kJoinNs &&
        !sketch.graph[id].op->writes_state() && waits_for_other_lanes(sketch, id))
      small.push_back(id);
  }
  if (small.empty()) return;
  const double before_ns = predict_ns(sketch);
  const PerNode<Work> before = sketch.works;
  for (const NodeId id : small) sketch[id].share = {.split = Split::copies};
  choose_cols(sketch);
  choose_stages(sketch);
  if (predict_ns(sketch) >= before_ns) sketch.works = before;
}

}  // namespace weft::scheduler

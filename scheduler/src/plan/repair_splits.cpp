// Revises splits after columns and stages were chosen. choose_splits() assumes that a node's
// columns can be those that its readers need. If granules do not allow that (heads of 48 elements,
// blocks of 32), there is a join before and after the node. If such a node is small, every lane
// computes all of it instead.

#include "plan/draft.h"

namespace weft::scheduler {
namespace {

bool waits_for_other_lanes(const Draft& draft, NodeId id) {
  const Node& node = draft.graph[id];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const Reach reach = node.op->input(i).reach;
    if (reach != Reach::same && reach != Reach::col) continue;
    const NodeId maker = lanes::source_of(draft.graph, node.inputs[i]).node;
    if (draft[maker].works && draft[maker].share.split == Split::cols &&
        draft[maker].stage < draft[id].stage)
      return true;
  }
  return false;
}

}  // namespace

void repair_splits(Draft& draft) {
  std::vector<NodeId> small;
  for (NodeId id = 0; id < draft.graph.size(); ++id) {
    const Work& work = draft[id];
    if (work.works && work.share.split == Split::cols && work.ns < kJoinNs &&
        !draft.graph[id].op->writes_state() && waits_for_other_lanes(draft, id))
      small.push_back(id);
  }
  if (small.empty()) return;
  const double before_ns = predict_ns(draft);
  const PerNode<Work> before = draft.works;
  for (const NodeId id : small) draft[id].share = {.split = Split::copies};
  choose_cols(draft);
  choose_stages(draft);
  if (predict_ns(draft) >= before_ns) draft.works = before;
}

}  // namespace weft::scheduler

// Chooses stages: the first stage in which every lane finds its inputs, computed in an earlier
// stage or earlier in its own lane. A state is written repeatedly, so every access to it is ordered
// after all earlier accesses.

#include <algorithm>
#include <unordered_map>

#include "plan/draft.h"

namespace weft::scheduler {
namespace {

bool must_meet(const Draft& draft, const Node& user, std::size_t input, const lanes::Share& share,
               const lanes::Share& maker) {
  for (int lane = 0; lane < draft.lanes; ++lane) {
    if (!share.runs_in(lane)) continue;
    if (lanes::needs_other_lanes(lanes::need(draft.graph, user, input, share, lane), lane, maker,
                                 draft.lanes))
      return true;
  }
  return false;
}

// A step's access to a state, as columns of its rows.
struct Access {
  NodeId node;
  bool writes;
  std::vector<lanes::Cols> cols;  // per lane
};

bool collide(const Access& a, const Access& b) {
  if (!a.writes && !b.writes) return false;
  for (std::size_t i = 0; i < a.cols.size(); ++i) {
    for (std::size_t j = 0; j < b.cols.size(); ++j) {
      if (i != j && lanes::overlap(a.cols[i], b.cols[j])) return true;
    }
  }
  return false;
}

Access access_of(const Draft& draft, NodeId id, std::size_t input) {
  const Node& node = draft.graph[id];
  const lanes::Share& share = draft[id].share;
  Access access{id, node.op->storage == Storage::state && input == 0, {}};
  for (int lane = 0; lane < draft.lanes; ++lane) {
    lanes::Cols cols;
    if (share.runs_in(lane)) {
      cols = access.writes && share.split == Split::cols
                 ? share.cols[static_cast<std::size_t>(lane)]
                 : lanes::need(draft.graph, node, input, share, lane).cols;
    }
    access.cols.push_back(std::move(cols));
  }
  return access;
}

bool reads_matrix(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](NodeId id) {
    if (id == kNoNode) return false;
    const Node& read = graph[lanes::memory_of(graph, id)];
    return (read.kind == NodeKind::weight && read.spec.shape.rank() > 1) ||
           read.kind == NodeKind::state;
  });
}

// A single lane never waits. But tensors live for whole stages, and share no memory if there is
// only one: a stage ends after every node that reads a matrix, as it does with several lanes.
void end_stages_of_one_lane(Draft& draft) {
  std::int32_t stage = 0;
  for (NodeId id = 0; id < draft.graph.size(); ++id) {
    if (!draft[id].works) continue;
    draft[id].stage = stage;
    if (reads_matrix(draft.graph, draft.graph[id])) ++stage;
  }
}

}  // namespace

void choose_stages(Draft& draft) {
  if (draft.lanes == 1) return end_stages_of_one_lane(draft);
  std::unordered_map<NodeId, std::vector<Access>> touched;  // by state, in program order
  for (NodeId id = 0; id < draft.graph.size(); ++id) {
    Work& work = draft[id];
    if (!work.works) continue;
    const Node& node = draft.graph[id];
    work.stage = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode) continue;
      const NodeId source = lanes::source_of(draft.graph, node.inputs[i]).node;
      if (const NodeId state = lanes::state_of(draft.graph, source); state != kNoNode) {
        Access access = access_of(draft, id, i);
        for (const Access& before : touched[state]) {
          if (before.node == id || (!before.writes && !access.writes)) continue;
          work.stage =
              std::max(work.stage, draft[before.node].stage + (collide(before, access) ? 1 : 0));
        }
        touched[state].push_back(std::move(access));
      } else if (draft[source].works) {
        const bool meet = must_meet(draft, node, i, work.share, draft[source].share);
        work.stage = std::max(work.stage, draft[source].stage + (meet ? 1 : 0));
      }
    }
  }
}

}  // namespace weft::scheduler

// Chooses stages: the first stage in which every lane finds its inputs, computed in an earlier
// stage or earlier in its own lane. A state is written repeatedly, so every access to it is ordered
// after all earlier accesses.

#include <algorithm>
#include <unordered_map>

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

bool must_meet(const Sketch& sketch, const Node& user, std::size_t input, const lanes::Share& share,
               const lanes::Share& maker) {
  for (int lane = 0; lane < sketch.lanes; ++lane) {
    if (!share.runs_in(lane)) continue;
    if (lanes::needs_other_lanes(lanes::need(sketch.graph, user, input, share, lane), lane, maker,
                                 sketch.lanes))
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

Access access_of(const Sketch& sketch, NodeId id, std::size_t input) {
  const Node& node = sketch.graph[id];
  const lanes::Share& share = sketch[id].share;
  Access access{id, node.op->storage == Storage::state && input == 0, {}};
  for (int lane = 0; lane < sketch.lanes; ++lane) {
    lanes::Cols cols;
    if (share.runs_in(lane)) {
      cols = access.writes && share.split == Split::cols
                 ? share.cols[static_cast<std::size_t>(lane)]
                 : lanes::need(sketch.graph, node, input, share, lane).cols;
    }
    access.cols.push_back(std::move(cols));
  }
  return access;
}

bool reads_matrix(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](NodeId id) {
    if (id == kNoNode) return false;
    const Node& read = graph[lanes::memory_of(graph, id)];
    return (read.kind == NodeKind::weight && read.spec.shape.n_dims() > 1) ||
           read.kind == NodeKind::state;
  });
}

// A single lane never waits. But tensors live for whole stages, and share no memory if there is
// only one: a stage ends after every node that reads a matrix, as it does with several lanes.
void end_stages_of_one_lane(Sketch& sketch) {
  std::int32_t stage = 0;
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    if (!sketch[id].works) continue;
    sketch[id].stage = stage;
    if (reads_matrix(sketch.graph, sketch.graph[id])) ++stage;
  }
}

}  // namespace

void choose_stages(Sketch& sketch) {
  if (sketch.lanes == 1) return end_stages_of_one_lane(sketch);
  std::unordered_map<NodeId, std::vector<Access>> touched;  // by state, in program order
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    Work& work = sketch[id];
    if (!work.works) continue;
    const Node& node = sketch.graph[id];
    work.stage = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode) continue;
      const NodeId source = lanes::source_of(sketch.graph, node.inputs[i]).node;
      if (const NodeId state = lanes::state_of(sketch.graph, source); state != kNoNode) {
        Access access = access_of(sketch, id, i);
        for (const Access& before : touched[state]) {
          if (before.node == id || (!before.writes && !access.writes)) continue;
          work.stage =
              std::max(work.stage, sketch[before.node].stage + (collide(before, access) ? 1 : 0));
        }
        touched[state].push_back(std::move(access));
      } else if (sketch[source].works) {
        const bool meet = must_meet(sketch, node, i, work.share, sketch[source].share);
        work.stage = std::max(work.stage, sketch[source].stage + (meet ? 1 : 0));
      }
    }
  }
}

}  // namespace weft::scheduler

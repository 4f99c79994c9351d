#include <unordered_map>

#include "weft/base/error.h"

#include "checks/check_plan.h"

namespace weft::scheduler {
namespace {

using lanes::Cols;

// The part of the output of `maker` that lane `lane` computes itself.
Cols own_part(const CheckedPlan& checked, NodeId maker, int lane) {
  const PlanStep& step = checked.step(maker);
  const Cols whole{{0, checked.graph[maker].spec.shape.cols()}};
  switch (step.split) {
    case Split::one:
      return step.lane == lane ? whole : Cols{};
    case Split::cols:
      return lanes::normalized(step.cols[static_cast<std::size_t>(lane)]);
    case Split::copies:
    case Split::rows:
      break;
  }
  return whole;
}

bool covers(const Cols& have, const Cols& need) {
  for (const ColRange& r : need) {
    if (lanes::width(lanes::within(have, r)) != r.end - r.begin) return false;
  }
  return true;
}

void check_read(const CheckedPlan& checked, NodeId reader, std::size_t input, int lane) {
  const Graph& graph = checked.graph;
  const NodeId maker = lanes::source_of(graph, graph[reader].inputs[input]).node;
  if (!checked.has_step(maker)) return;  // a weight or an input: complete before the run
  const lanes::Need need = lanes::need(graph, graph[reader], input, checked.share(reader), lane);
  if (need.cols.empty() || checked.step(maker).stage < checked.step(reader).stage) return;
  const bool rows_fit = checked.step(maker).split != Split::rows || need.own_rows;
  if (!checked.ordered(maker, lane, reader, lane) || !rows_fit ||
      !covers(own_part(checked, maker, lane), need.cols)) {
    fail<ValueError>(
        "'{}' (stage {}, lane {}) reads parts of '{}' (stage {}) that another lane may not have "
        "made yet",
        graph[reader].path, checked.step(reader).stage, lane, graph[maker].path,
        checked.step(maker).stage);
  }
}

struct Access {
  NodeId node;
  bool writes;
  std::vector<Cols> cols;  // per lane
};

Access access_of(const CheckedPlan& checked, NodeId id, std::size_t input) {
  const Node& node = checked.graph[id];
  const lanes::Share share = checked.share(id);
  Access access{id, node.op->storage == Storage::state && input == 0, {}};
  for (int lane = 0; lane < checked.plan.lanes; ++lane) {
    access.cols.push_back(!share.runs_in(lane) ? Cols{}
                          : access.writes
                              ? own_part(checked, id, lane)
                              : lanes::need(checked.graph, node, input, share, lane).cols);
  }
  return access;
}

// `a` comes before `b` in program order. If one of them writes what the other one accesses, `a`
// must also run before `b`.
void check_order(const CheckedPlan& checked, const Access& a, const Access& b) {
  if (a.node == b.node || (!a.writes && !b.writes)) return;
  for (int i = 0; i < checked.plan.lanes; ++i) {
    for (int j = 0; j < checked.plan.lanes; ++j) {
      if (!lanes::overlap(a.cols[static_cast<std::size_t>(i)], b.cols[static_cast<std::size_t>(j)]))
        continue;
      if (checked.ordered(a.node, i, b.node, j)) continue;
      fail<ValueError>(
          "'{}' (lane {}) and '{}' (lane {}) access the same part of a state in no defined order",
          checked.graph[a.node].path, i, checked.graph[b.node].path, j);
    }
  }
}

// No other node uses a state that a node updates (Graph check), but the lanes of the node share it.
void check_update(const CheckedPlan& checked, NodeId id, std::size_t input) {
  const Node& node = checked.graph[id];
  const lanes::Share share = checked.share(id);
  Cols taken;
  for (int lane = 0; lane < checked.plan.lanes; ++lane) {
    if (!share.runs_in(lane)) continue;
    const Cols cols = lanes::need(checked.graph, node, input, share, lane).cols;
    if (lanes::overlap(taken, cols))
      fail<ValueError>("'{}' (lane {}) updates a part of '{}' that another lane updates too",
                       node.path, lane, checked.graph[node.inputs[input]].path);
    taken.insert(taken.end(), cols.begin(), cols.end());
    taken = lanes::normalized(std::move(taken));
  }
}

}  // namespace

void check_lanes(const CheckedPlan& checked) {
  const Graph& graph = checked.graph;
  std::unordered_map<NodeId, std::vector<Access>> touched;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!checked.has_step(id)) continue;
    if (graph[id].op->updates >= 0)
      check_update(checked, id, static_cast<std::size_t>(graph[id].op->updates));
    for (std::size_t i = 0; i < graph[id].inputs.size(); ++i) {
      if (graph[id].inputs[i] == kNoNode) continue;
      if (const NodeId state = lanes::state_of(graph, graph[id].inputs[i]); state != kNoNode) {
        const Access access = access_of(checked, id, i);
        for (const Access& before : touched[state]) check_order(checked, before, access);
        touched[state].push_back(access);
        continue;
      }
      const lanes::Share share = checked.share(id);
      for (int lane = 0; lane < checked.plan.lanes; ++lane) {
        if (share.runs_in(lane)) check_read(checked, id, i, lane);
      }
    }
  }
}

}  // namespace weft::scheduler

#include <algorithm>

#include "weft/backends/memory.h"
#include "weft/base/error.h"

#include "checks/check_plan.h"

namespace weft::scheduler {
namespace {

const Placement& placement(const CheckedPlan& checked, NodeId id) {
  return checked.plan.placements[id];
}

Place expected_place(const Node& node) {
  if (node.kind == NodeKind::weight) return Place::weight;
  if (node.kind == NodeKind::state) return Place::state;
  if (node.kind == NodeKind::input || node.op->storage == Storage::fresh) return Place::arena;
  return node.op->storage == Storage::view ? Place::view : Place::state;
}

void check_placement(const CheckedPlan& checked, NodeId id) {
  const Node& node = checked.graph[id];
  const Placement& p = placement(checked, id);
  const auto bad = [&](std::string_view what) {
    fail<ValueError>("placement of '{}': {}", node.path, what);
  };
  if (p.place != expected_place(node)) bad("wrong kind of memory");
  if (p.root != lanes::memory_of(checked.graph, id)) bad("wrong root");
  if (p.bytes != node.spec.bytes()) bad("wrong size");
  const bool copied = checked.has_step(id) && checked.step(id).split == Split::copies;
  if (p.copies != (copied ? checked.plan.lanes : 1)) bad("wrong number of copies");
  if (p.place == Place::view &&
      p.offset != node.spec.dtype.bytes(lanes::source_of(checked.graph, id).col))
    bad("wrong offset in its row");
  if (p.place != Place::arena) return;
  if (p.offset < 0 || p.offset % kAlignment != 0) bad("not aligned");
  if (is_device(p.memory) && device_index(p.memory) >= checked.plan.devices.size())
    bad("in no memory of the plan");
  if (p.offset + p.copies * align_up(p.bytes) > checked.plan.arena_of(p.memory))
    bad("past the end of the arena");
}

struct Life {
  std::int32_t first = 0, last = 0;
};

Life life_of(const CheckedPlan& checked, NodeId id) {
  if (!checked.has_step(id) || lanes::is_output(checked.graph, id))
    return {0, checked.plan.stages - 1};
  Life life{checked.step(id).stage, checked.step(id).stage};
  for (const NodeId reader : checked.readers[id])
    life.last = std::max(life.last, checked.step(reader).stage);
  return life;
}

// The first of a chain of in-place nodes.
NodeId chain_of(const CheckedPlan& checked, NodeId id) {
  while (placement(checked, id).in_place_over != kNoNode) id = placement(checked, id).in_place_over;
  return id;
}

// A reader of `over` other than `id` must be done before `id` overwrites what it reads.
void check_reader(const CheckedPlan& checked, NodeId over, NodeId id, NodeId reader) {
  const Graph& graph = checked.graph;
  const lanes::Share readers_share = checked.share(reader), share = checked.share(id);
  for (std::size_t n = 0; n < graph[reader].inputs.size(); ++n) {
    if (graph[reader].inputs[n] == kNoNode ||
        lanes::source_of(graph, graph[reader].inputs[n]).node != over)
      continue;
    for (int i = 0; i < checked.plan.lanes; ++i) {
      if (!readers_share.runs_in(i)) continue;
      const bool elsewhere = lanes::needs_other_lanes(
          lanes::need(graph, graph[reader], n, readers_share, i), i, share, checked.plan.lanes);
      const bool done = checked.step(reader).stage < checked.step(id).stage ||
                        (!elsewhere && checked.ordered(reader, i, id, i));
      if (!done)
        fail<ValueError>("'{}' overwrites '{}' in place while '{}' may still read it",
                         graph[id].path, graph[over].path, graph[reader].path);
    }
  }
}

void check_in_place(const CheckedPlan& checked, NodeId id) {
  const Graph& graph = checked.graph;
  const Node& node = graph[id];
  const NodeId over = placement(checked, id).in_place_over;
  const auto bad = [&](std::string_view what) {
    fail<ValueError>("'{}' in place over '{}': {}", node.path,
                     over >= 0 && over < id ? graph[over].path : "?", what);
  };
  if (over < 0 || over >= id || !checked.has_step(id) || !checked.has_step(over))
    bad("no such pair of steps");
  if (graph[over].op->storage != Storage::fresh || lanes::is_output(graph, over))
    bad("its memory cannot be reused");
  const Placement &mine = placement(checked, id), &theirs = placement(checked, over);
  if (mine.memory != theirs.memory || mine.offset != theirs.offset || mine.bytes != theirs.bytes ||
      mine.copies != theirs.copies)
    bad("their memory differs");
  const std::size_t allowed = static_cast<std::size_t>(node.op->in_place_over);
  const lanes::Share share = checked.share(id);
  for (std::size_t n = 0; n < node.inputs.size(); ++n) {
    if (node.inputs[n] == kNoNode) continue;
    const lanes::Source source = lanes::source_of(graph, node.inputs[n]);
    if (source.node != over) continue;
    if (n != allowed || source.col != 0 || !source.rows_match)
      bad("it also reads it through another input");
    for (int lane = 0; lane < checked.plan.lanes; ++lane) {
      if (!share.runs_in(lane)) continue;
      const lanes::Need need = lanes::need(graph, node, n, share, lane);
      if (lanes::needs_other_lanes(need, lane, share, checked.plan.lanes))
        bad("a lane reads what another one overwrites");
    }
  }
  for (const NodeId reader : checked.readers[over]) {
    if (reader != id) check_reader(checked, over, id, reader);
  }
}

}  // namespace

void check_memory(const CheckedPlan& checked) {
  const Graph& graph = checked.graph;
  std::vector<std::vector<NodeId>> alive(
      static_cast<std::size_t>(std::max(0, checked.plan.stages)));
  for (NodeId id = 0; id < graph.size(); ++id) {
    check_placement(checked, id);
    const Placement& p = placement(checked, id);
    if (p.in_place_over != kNoNode) check_in_place(checked, id);
    if (p.place != Place::arena) continue;
    const Life life = life_of(checked, id);
    if (p.first_stage > life.first || p.last_stage < life.last)
      fail<ValueError>("'{}' must be live in stages {} to {}", graph[id].path, life.first,
                       life.last);
    for (std::int32_t stage = life.first; stage <= life.last; ++stage)
      alive[static_cast<std::size_t>(stage)].push_back(id);
  }
  const auto end_of = [&](NodeId id) {
    return placement(checked, id).offset +
           placement(checked, id).copies * align_up(placement(checked, id).bytes);
  };
  for (std::size_t stage = 0; stage < alive.size(); ++stage) {
    auto& ids = alive[stage];
    std::sort(ids.begin(), ids.end(), [&](NodeId a, NodeId b) {
      const Placement &pa = placement(checked, a), &pb = placement(checked, b);
      return std::pair(pa.memory, pa.offset) < std::pair(pb.memory, pb.offset);
    });
    const auto overlap = [&](NodeId a, NodeId b) {
      const Placement &pa = placement(checked, a), &pb = placement(checked, b);
      return pa.memory == pb.memory && pb.offset < end_of(a);
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t j = i + 1; j < ids.size() && overlap(ids[i], ids[j]); ++j) {
        if (chain_of(checked, ids[i]) == chain_of(checked, ids[j])) continue;
        fail<ValueError>("'{}' and '{}' share bytes of the arena in stage {}", graph[ids[i]].path,
                         graph[ids[j]].path, stage);
      }
    }
  }
}

}  // namespace weft::scheduler

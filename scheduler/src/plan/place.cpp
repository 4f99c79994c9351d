#include "plan/place.h"

#include <algorithm>

#include "weft/backends/memory.h"
#include "weft/base/error.h"

#include "plan/arena.h"
#include "plan/lanes.h"

namespace weft::scheduler {
namespace {

Place kind_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::weight:
      return Place::weight;
    case NodeKind::state:
      return Place::state;
    case NodeKind::input:
      return Place::arena;
    case NodeKind::op:
      break;
  }
  switch (node.op->storage) {
    case Storage::view:
      return Place::view;
    case Storage::state:
      return Place::state;
    case Storage::fresh:
      break;
  }
  return Place::arena;
}

// Fills everything in the placements but the offsets in the arena. Lifetimes are from the stage
// that writes to the last one that reads.
void describe(const Sketch& sketch, Plan& plan) {
  const Graph& graph = sketch.graph;
  plan.placements = PerNode<Placement>(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    Placement& p = plan.placements[id];
    p.place = kind_of(node);
    p.root = lanes::memory_of(graph, id);
    p.bytes = node.spec.bytes();
    if (p.place == Place::view) p.offset = node.spec.dtype.bytes(lanes::source_of(graph, id).col);
    if (sketch[id].works && sketch[id].share.split == Split::copies) p.copies = plan.lanes;
    if (node.kind == NodeKind::op) {
      p.memory =
          sketch[id].works ? sketch.memory_of(sketch[id].kernel) : plan.placements[p.root].memory;
    }
    p.first_stage = p.last_stage = sketch[id].works ? sketch[id].stage : 0;
    if (node.kind != NodeKind::op) p.last_stage = plan.stages - 1;
    for (const NodeId user : sketch.users[id])
      p.last_stage = std::max(p.last_stage, sketch[user].stage);
  }
  for (const Graph::Output& output : graph.outputs()) {
    Placement& p = plan.placements[lanes::source_of(graph, output.node).node];
    p.first_stage = 0;
    p.last_stage = plan.stages - 1;
  }
}

// Weights are in every memory that reads them; a state is in the memory of the nodes that use it.
void describe_shared(const Sketch& sketch, Plan& plan) {
  const Graph& graph = sketch.graph;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!sketch[id].works || graph[id].op->transfers) continue;
    const MemoryId memory = plan.placements[id].memory;
    for (const NodeId input : graph[id].inputs) {
      if (input == kNoNode) continue;
      const NodeId root = lanes::memory_of(graph, input);
      Placement& p = plan.placements[root];
      if (p.place == Place::weight) p.weight_in.insert(memory);
      if (p.place == Place::state) p.memory = memory;
    }
  }
}

// Whether every read of `over` is done in its lane before the same lane writes `id` there.
bool reads_are_done(const Sketch& sketch, NodeId over, NodeId id) {
  const Graph& graph = sketch.graph;
  const Work& writer = sketch[id];
  for (const NodeId user : sketch.users[over]) {
    if (user == id) continue;
    if (sketch[user].stage > writer.stage || (sketch[user].stage == writer.stage && user > id))
      return false;
    if (sketch[user].stage < writer.stage) continue;
    const Node& node = graph[user];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode || lanes::source_of(graph, node.inputs[i]).node != over)
        continue;
      for (int lane = 0; lane < sketch.lanes; ++lane) {
        if (!sketch[user].share.runs_in(lane)) continue;
        const lanes::Need need = lanes::need(graph, node, i, sketch[user].share, lane);
        if (lanes::needs_other_lanes(need, lane, writer.share, sketch.lanes)) return false;
      }
    }
  }
  return true;
}

// The node whose memory `id` may reuse, as OpDef::in_place_over proposes: only if the old contents
// are not needed any more, and every lane overwrites only what it alone has read.
NodeId in_place_over(const Sketch& sketch, NodeId id) {
  const Graph& graph = sketch.graph;
  const Node& node = graph[id];
  const Work& work = sketch[id];
  if (node.op->storage != Storage::fresh || node.op->in_place_over < 0 ||
      lanes::is_output(graph, id))
    return kNoNode;
  const std::size_t index = static_cast<std::size_t>(node.op->in_place_over);
  const NodeId input = index < node.inputs.size() ? node.inputs[index] : kNoNode;
  if (input == kNoNode) return kNoNode;
  const lanes::Source source = lanes::source_of(graph, input);
  const NodeId over = source.node;
  const Work& maker = sketch[over];
  if (!maker.works || graph[over].op->storage != Storage::fresh || lanes::is_output(graph, over))
    return kNoNode;
  if (work.kernel.device != maker.kernel.device) return kNoNode;
  if (source.col != 0 || !source.rows_match || graph[over].spec.dtype != node.spec.dtype)
    return kNoNode;
  if (graph[over].spec.shape.rows() != node.spec.shape.rows()) return kNoNode;
  if (graph[over].spec.bytes() != node.spec.bytes()) return kNoNode;
  const bool copies = work.share.split == Split::copies;
  if (copies != (maker.share.split == Split::copies)) return kNoNode;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == index || node.inputs[i] == kNoNode) continue;
    if (lanes::source_of(graph, node.inputs[i]).node == over) return kNoNode;
  }
  for (int lane = 0; lane < sketch.lanes; ++lane) {
    if (!work.share.runs_in(lane)) continue;
    if (lanes::needs_other_lanes(lanes::need(graph, node, index, work.share, lane), lane,
                                 work.share, sketch.lanes))
      return kNoNode;
  }
  return reads_are_done(sketch, over, id) ? over : kNoNode;
}

}  // namespace

namespace {

// Packs the tensors of one memory.
ArenaPacking place_in(const Sketch& sketch, bool reuse, MemoryId memory, Plan& plan) {
  const Graph& graph = sketch.graph;
  std::vector<ArenaItem> items;
  PerNode<std::size_t> item_of(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    Placement& p = plan.placements[id];
    if (p.place != Place::arena || p.memory != memory) continue;
    p.in_place_over = reuse && sketch[id].works ? in_place_over(sketch, id) : kNoNode;
    if (p.in_place_over != kNoNode) {
      item_of[id] = item_of[p.in_place_over];
      ArenaItem& item = items[item_of[id]];
      item.first_stage = std::min(item.first_stage, p.first_stage);
      item.last_stage = std::max(item.last_stage, p.last_stage);
      continue;
    }
    item_of[id] = items.size();
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(align_up(p.bytes), static_cast<std::int64_t>(p.copies), &bytes)) {
      fail<ShapeError>("'{}' has too many bytes", graph[id].path);
    }
    items.push_back({bytes, p.first_stage, p.last_stage});
  }
  const ArenaPacking packing = reuse ? pack_arena(items) : pack_without_reuse(items);
  for (NodeId id = 0; id < graph.size(); ++id) {
    Placement& p = plan.placements[id];
    if (p.place == Place::arena && p.memory == memory) p.offset = items[item_of[id]].offset;
  }
  return packing;
}

}  // namespace

void place_all(const Sketch& sketch, bool reuse, Plan& plan) {
  describe(sketch, plan);
  describe_shared(sketch, plan);
  const ArenaPacking packing = place_in(sketch, reuse, MemoryId::host, plan);
  plan.arena_bytes = packing.bytes;
  plan.arena_lower_bound = packing.lower_bound;
  plan.arena_heuristic = packing.heuristic;
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    const ArenaPacking there = place_in(sketch, reuse, device_memory(i), plan);
    plan.devices[i].arena_bytes = there.bytes;
    plan.devices[i].arena_lower_bound = there.lower_bound;
  }
}

}  // namespace weft::scheduler

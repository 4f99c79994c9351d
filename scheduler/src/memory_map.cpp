#include "memory_map.h"

#include "weft/backends/memory.h"
#include "weft/graph/error.h"

namespace weft {
namespace {

void check_buffer(std::string_view name, std::span<std::byte> buffer, std::int64_t needed) {
  if (std::ssize(buffer) < needed) {
    fail<ValueError>("{} must have {} bytes, got {}", name, needed, buffer.size());
  }
  if (reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment != 0) {
    fail<ValueError>("{} must be aligned to {} bytes", name, kAlignment);
  }
}

// Bytes between rows of a node. A view with its input's rows keeps their distance; one with other
// rows looks at a tensor without gaps.
std::int64_t row_stride(const Graph& graph, NodeId id) {
  for (;;) {
    const Node& node = graph[id];
    if (!node.op || node.op->storage != Storage::view) return node.spec.row_bytes();
    if (graph[node.inputs[0]].spec.shape.rows() != node.spec.shape.rows())
      return node.spec.row_bytes();
    id = node.inputs[0];
  }
}

}  // namespace

MemoryMap::MemoryMap(const Graph& graph, const Plan& plan, const Bindings& bindings)
    : graph_(graph), plan_(plan), base_(static_cast<std::size_t>(graph.size())) {
  if (std::ssize(plan.placements) != graph.size())
    fail<ValueError>("plan '{}' belongs to another graph", plan.name);
  check_buffer("the arena", bindings.arena, plan.arena_bytes);
  check_buffer("the scratch memory", bindings.scratch, plan.scratch_bytes);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const Placement& p = plan.placements[static_cast<std::size_t>(id)];
    std::byte*& base = base_[static_cast<std::size_t>(id)];
    if (node.kind == NodeKind::weight) {
      // Kernels read weights through the same View as everything else; no kernel writes to one.
      base = bindings.weight ? const_cast<std::byte*>(bindings.weight(node)) : nullptr;
      if (!base) fail<ValueError>("weight '{}' is not bound", node.path);
    } else if (node.kind == NodeKind::state) {
      base = bindings.state ? bindings.state(node) : nullptr;
      if (!base) fail<ValueError>("state '{}' is not bound", node.path);
    } else if (p.place == Place::arena) {
      base = bindings.arena.data() + p.offset;
    } else if (p.place == Place::state) {
      base = base_[static_cast<std::size_t>(p.root)];
    }
  }
}

View MemoryMap::view(NodeId id, int lane) const {
  if (id == kNoNode) return {};
  const Node& node = graph_[id];
  const Placement& p = plan_.placements[static_cast<std::size_t>(id)];
  const Placement& root = plan_.placements[static_cast<std::size_t>(p.root)];
  View view{.data = base_[static_cast<std::size_t>(p.root)],
            .dtype = node.spec.dtype,
            .rank = node.spec.shape.rank()};
  if (p.place == Place::view) view.data += p.offset;
  if (root.copies > 1) view.data += lane * align_up(root.bytes);
  for (int i = 0; i < view.rank; ++i)
    view.dims[static_cast<std::size_t>(i)] = node.spec.shape[i].bound;
  view.row_stride = row_stride(graph_, id);
  return view;
}

}  // namespace weft

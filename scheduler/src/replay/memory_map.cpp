#include "replay/memory_map.h"

#include "weft/backends/memory.h"
#include "weft/base/error.h"

namespace weft::scheduler {
namespace {

void check_buffer(std::string_view name, std::span<std::byte> buffer, std::int64_t needed) {
  if (std::ssize(buffer) < needed) {
    fail<ValueError>("{} must have {} bytes, got {}", name, needed, buffer.size());
  }
  if (reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment != 0) {
    fail<ValueError>("{} must be aligned to {} bytes", name, kAlignment);
  }
}

// Bytes between rows of a node. A view with the rows of its input has their stride; a view with
// other rows is of a tensor without gaps.
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
    : graph_(graph), plan_(plan), base_(graph), paged_(graph) {
  if (plan.placements.size() != graph.size())
    fail<ValueError>("plan '{}' belongs to another graph", plan.name);
  check_buffer("the arena", bindings.arena, plan.arena_bytes);
  check_buffer("the scratch memory", bindings.scratch, plan.scratch_bytes);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const Placement& p = plan.placements[id];
    std::byte*& base = base_[id];
    const bool elsewhere = !p.weight_in.empty() && !p.weight_in.contains(MemoryId::host);
    if (is_device(p.memory) || (node.kind == NodeKind::weight && elsewhere)) continue;
    if (node.kind == NodeKind::weight) {
      // Kernels read weights through the same View as everything else; no kernel writes to one.
      base = bindings.weight ? const_cast<std::byte*>(bindings.weight(node)) : nullptr;
      if (!base) fail<ValueError>("weight '{}' is not bound", node.path);
      if (bindings.stream) paged_[id] = bindings.stream->paged(node);
    } else if (node.kind == NodeKind::state) {
      base = bindings.state ? bindings.state(node) : nullptr;
      if (!base) fail<ValueError>("state '{}' is not bound", node.path);
    } else if (p.place == Place::arena) {
      base = bindings.arena.data() + p.offset;
    } else if (p.place == Place::state) {
      base = base_[p.root];
    }
  }
  bind_devices(bindings);
}

void MemoryMap::bind_devices(const Bindings& bindings) {
  if (bindings.devices.size() < plan_.devices.size()) {
    fail<ValueError>("plan '{}' uses {} devices, {} are bound", plan_.name, plan_.devices.size(),
                     bindings.devices.size());
  }
  weights_on_.resize(plan_.devices.size());
  for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
    const DeviceBindings& device = bindings.devices[i];
    const MemoryId memory = device_memory(i);
    check_buffer("the arena of " + plan_.devices[i].backend, device.arena,
                 plan_.devices[i].arena_bytes);
    check_buffer("the scratch memory of " + plan_.devices[i].backend, device.scratch,
                 plan_.devices[i].scratch_bytes);
    weights_on_[i] = PerNode<std::byte*>(graph_);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      const Placement& p = plan_.placements[id];
      const bool weight = node.kind == NodeKind::weight && p.weight_in.contains(memory);
      if (!weight && p.memory != memory) continue;
      std::byte*& base = weight ? weights_on_[i][id] : base_[id];
      if (weight || node.kind == NodeKind::state) {
        base = device.at ? device.at(node) : nullptr;
        if (!base) fail<ValueError>("'{}' is not bound on {}", node.path, plan_.devices[i].backend);
      } else if (p.place == Place::arena) {
        base = device.arena.data() + p.offset;
      } else if (p.place == Place::state) {
        base = base_[p.root];
      }
    }
  }
}

View MemoryMap::view(NodeId id, int lane, MemoryId reader) const {
  if (id == kNoNode) return {};
  const Node& node = graph_[id];
  const Placement& p = plan_.placements[id];
  const Placement& root = plan_.placements[p.root];
  View view{.data = base_[p.root], .dtype = node.spec.dtype, .n_dims = node.spec.shape.n_dims()};
  if (root.place == Place::weight && is_device(reader))
    view.data = weights_on_[device_index(reader)][p.root];
  else if (node.kind == NodeKind::weight)
    view.paged = paged_[id];
  if (p.place == Place::view) view.data += p.offset;
  if (root.copies > 1) view.data += lane * align_up(root.bytes);
  for (int i = 0; i < view.n_dims; ++i)
    view.dims[static_cast<std::size_t>(i)] = node.spec.shape[i].bound;
  view.row_stride = row_stride(graph_, id);
  return view;
}

}  // namespace weft::scheduler

#include <algorithm>
#include <set>

#include "weft/base/error.h"

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

std::int64_t bytes_at(const TensorSpec& spec) {
  return spec.present() ? spec.bytes() : 0;
}

Cost cost_of(const Graph& graph, const Node& node) {
  const auto specs = graph.input_specs(node);
  if (node.op->cost) return node.op->cost(node.attrs, specs, node.spec, graph.bounds());
  Cost cost{.bytes_written = bytes_at(node.spec)};
  for (const TensorSpec& spec : specs) cost.bytes_read += bytes_at(spec);
  return cost;
}

// Rough rates of one core. Activations of a step are in its caches, weights and states come from
// memory.
constexpr double kNearBytesPerNs = 64;
constexpr double kFarBytesPerNs = 16;
constexpr double kMultiplyAddsPerNs = 64;

std::string describe(const Graph& graph, const Node& node) {
  std::string text;
  for (const TensorSpec& spec : graph.input_specs(node)) {
    if (spec.present()) text += (text.empty() ? "" : ", ") + to_string(spec);
  }
  return text;
}

}  // namespace

void estimate(const Graph& graph, const Node& node, Work& work) {
  std::int64_t near = work.cost.bytes_written, far_inputs = 0;
  for (const NodeId id : node.inputs) {
    if (id == kNoNode) continue;
    const NodeKind kind = graph[lanes::memory_of(graph, id)].kind;
    const bool is_near = kind == NodeKind::op || kind == NodeKind::input;
    (is_near ? near : far_inputs) += bytes_at(graph[id].spec);
  }
  const std::int64_t total = work.cost.bytes_read + work.cost.bytes_written;
  near = std::min(near, total);
  const double far_ns = static_cast<double>(total - near) / kFarBytesPerNs;
  work.ns = std::max(far_ns + static_cast<double>(near) / kNearBytesPerNs,
                     static_cast<double>(work.cost.multiply_adds) / kMultiplyAddsPerNs);
  work.shared_ns = work.cost.bytes_read >= far_inputs ? far_ns : 0;
}

Sketch find_kernels(const Graph& graph, const Assignment& assignment, int lanes) {
  Sketch sketch{graph, lanes, PerNode<Work>(graph), {}, PerNode<std::vector<NodeId>>(graph), {}};
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!lanes::does_work(node)) continue;
    const auto kernel = assignment.find(graph, node);
    if (!kernel) {
      fail<UnsupportedError>("{} '{}': backend {} has no kernel for {}", node.op->name, node.path,
                             assignment.routes().wanted(node).name(), describe(graph, node));
    }
    Work& work = sketch[id];
    work.works = true;
    work.kernel = *kernel;
    if (kernel->device && !is_device(sketch.memory_of(*kernel)))
      sketch.devices.push_back(kernel->device);
    if (sketch.devices.size() > kMaxDevices)
      fail<UnsupportedError>("a plan uses at most {} devices", kMaxDevices);
    work.cost = cost_of(graph, node);
    estimate(graph, node, work);
    std::set<NodeId> read;
    for (const NodeId input : node.inputs) {
      if (input != kNoNode) read.insert(lanes::source_of(graph, input).node);
    }
    for (const NodeId source : read) sketch.users[source].push_back(id);
  }
  return sketch;
}

}  // namespace weft::scheduler

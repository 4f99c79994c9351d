#include "weft/scheduler/planner.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/rows/copy.h"
#include "weft/scheduler/workers.h"

#include "plan/place.h"
#include "plan/sketch.h"

namespace weft {
namespace {

using namespace scheduler;

PlanStep step_of(const Sketch& sketch, NodeId id) {
  const Node& node = sketch.graph[id];
  const Work& work = sketch[id];
  PlanStep step{.node = id,
                .path = node.path,
                .op = std::string(node.op->name),
                .backend = std::string(work.kernel.backend->name()),
                .kernel = std::string(work.kernel.row),
                .split = work.share.split,
                .lane = work.share.lane,
                .stage = work.stage,
                .cost = work.cost};
  if (step.split == Split::cols) step.cols = work.share.cols;
  step.parts = work.parts;
  return step;
}

// The backend that lacks a kernel for a node that is therefore computed by its definition.
std::string_view lacking_backend(const Assignment& assignment, const Node& node,
                                 const Kernel& kernel) {
  if (kernel.backend != &reference_backend()) return "";
  const Backend& wanted = assignment.routes().wanted(node);
  if (&wanted == kernel.backend) return "";
  return cpu_backend().name();  // the last fallback before the definition
}

// Adds a node's memory on devices, and in the host's weights if there are devices.
void sum_up_devices(const Sketch& sketch, NodeId id, Plan& plan) {
  const Node& node = sketch.graph[id];
  const Placement& p = plan.placements[id];
  const Kernel& kernel = sketch[id].kernel;
  if (p.weight_in.contains(MemoryId::host)) plan.weight_bytes += node.spec.bytes();
  for (std::size_t i = 0; i < plan.devices.size(); ++i) {
    PlanDevice& device = plan.devices[i];
    const MemoryId memory = device_memory(i);
    if (p.weight_in.contains(memory)) device.weight_bytes += align_up(node.spec.bytes());
    if (node.kind == NodeKind::state && p.memory == memory)
      device.state_bytes += align_up(node.spec.bytes());
    if (kernel.device == sketch.devices[i])
      device.scratch_bytes = std::max(device.scratch_bytes, align_up(kernel.scratch_bytes));
    if (!node.op || !node.op->transfers) continue;
    const auto& a = node.attrs.as<CopyAttrs>();
    if (a.from == MemoryId::host && p.memory == memory) device.bytes_in += node.spec.bytes();
    if (a.to == MemoryId::host && kernel.backend->device() == sketch.devices[i])
      device.bytes_out += node.spec.bytes();
  }
}

void sum_up(const Sketch& sketch, Plan& plan) {
  std::int64_t scratch = 0;
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    const Node& node = sketch.graph[id];
    const Placement& p = plan.placements[id];
    const Kernel& kernel = sketch[id].kernel;
    if (node.kind == NodeKind::weight && plan.devices.empty())
      plan.weight_bytes += node.spec.bytes();
    if (node.kind == NodeKind::state && !is_device(p.memory)) plan.state_bytes += node.spec.bytes();
    if (!kernel.device) scratch = std::max(scratch, kernel.scratch_bytes);
    if (!plan.devices.empty()) sum_up_devices(sketch, id, plan);
  }
  plan.scratch_bytes = align_up(scratch) * plan.lanes;
}

bool checks_every_plan() {
#ifndef NDEBUG
  return true;
#else
  const char* value = std::getenv("WEFT_CHECK_PLANS");
  return value && *value && std::string_view(value) != "0";
#endif
}

Sketch lay_out(const Graph& graph, const Assignment& assignment, int lanes) {
  Sketch sketch = find_kernels(graph, assignment, lanes);
  choose_splits(sketch);
  choose_cols(sketch);
  choose_stages(sketch);
  repair_splits(sketch);
  return sketch;
}

Sketch best_sketch(const Graph& graph, const Assignment& assignment, const PlanOptions& options) {
  Sketch sketch = lay_out(graph, assignment, options.lanes);
  const bool alone =
      options.allow_one_lane && options.lanes > 1 && predict_alone_ns(sketch) <= predict_ns(sketch);
  return alone ? lay_out(graph, assignment, 1) : sketch;
}

}  // namespace

Plan make_plan(const Graph& graph, const Assignment& assignment, const PlanOptions& options) {
  if (options.lanes < 1 || options.lanes > kMaxWorkers)
    fail<ValueError>("a plan has 1 to {} lanes, not {}", kMaxWorkers, options.lanes);
  Sketch sketch = best_sketch(graph, assignment, options);
  choose_shares(sketch, options.share_ns);

  Plan plan{.name = options.name, .lanes = sketch.lanes, .variables = graph.variables()};
  plan.predicted_ns = static_cast<std::int64_t>(predict_ns(sketch));
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!sketch[id].works) continue;
    plan.steps.push_back(step_of(sketch, id));
    plan.steps.back().instead_of = lacking_backend(assignment, graph[id], sketch[id].kernel);
  }
  std::stable_sort(plan.steps.begin(), plan.steps.end(),
                   [](const PlanStep& a, const PlanStep& b) { return a.stage < b.stage; });
  plan.stages = plan.steps.empty() ? 0 : plan.steps.back().stage + 1;
  plan.shares.assign(sketch.shares.begin(), sketch.shares.end());
  for (const Device* device : sketch.devices)
    plan.devices.push_back({.backend = std::string(device->name())});
  place_all(sketch, !options.separate_tensors, plan);
  sum_up(sketch, plan);
  choose_replay(options.replay, plan);
  if (checks_every_plan()) check(plan, graph);
  return plan;
}

}  // namespace weft

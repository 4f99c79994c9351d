#include "weft/scheduler/computation.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"
#include "weft/scheduler/workers.h"

namespace weft {
namespace {

// The memory of weights or of states, by path.
using Buffers = std::map<std::string, Buffer, std::less<>>;

Buffers buffers_of(const Graph& graph, NodeKind kind) {
  Buffers buffers;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == kind)
      buffers.emplace(graph[id].path, std::max<std::int64_t>(graph[id].spec.bytes(), 1));
  }
  return buffers;
}

[[noreturn]] void refuse_path(std::string_view kind, std::string_view path) {
  fail<ValueError>("the graph has no {} '{}'", kind, path);
}

Buffer& find_buffer(Buffers& buffers, std::string_view kind, std::string_view path) {
  const auto it = buffers.find(path);
  if (it == buffers.end()) refuse_path(kind, path);
  return it->second;
}

Assignment assignment_of(const ComputationOptions& options, const Graph& graph) {
  Routes routes(options.backend, options.route);
  routes.check_patterns(graph);
  if (!routes.devices().empty())
    fail<UnsupportedError>("a computation runs in host memory, not on '{}'", options.backend);
  return Assignment(std::move(routes));
}

// A plan with what runs it.
struct Runnable {
  Runnable(const Graph& graph, const Assignment& assignment, const PlanOptions& options,
           Buffers& weights, Buffers& states, Workers& workers)
      : plan(make_plan(graph, assignment, options)),
        arena(std::max<std::int64_t>(plan.arena_bytes, 1)),
        scratch(std::max<std::int64_t>(plan.scratch_bytes, 1)),
        executor(graph, plan, assignment,
                 {.weight = [&](const Node& n) { return weights.find(n.path)->second.data(); },
                  .state = [&](const Node& n) { return states.find(n.path)->second.data(); },
                  .arena = arena.bytes(),
                  .scratch = scratch.bytes()},
                 workers) {}

  Plan plan;
  Buffer arena, scratch;
  Executor executor;
};

}  // namespace

struct Computation::Impl {
  Impl(const Graph& given, const ComputationOptions& o)
      : options(o),
        n_workers(o.workers > 0 ? o.workers : default_workers()),
        workers(n_workers),
        assignment(assignment_of(o, given)),
        graph(optimize(given, assignment, {.off = o.passes_off})),
        weights(buffers_of(graph, NodeKind::weight)),
        states(buffers_of(graph, NodeKind::state)),
        runnable(graph, assignment, plan_options(n_workers), weights, states, workers) {
    for (const auto& [path, buffer] : weights) unset.insert(path);
  }

  PlanOptions plan_options(int lanes) const {
    return {.name = "computation",
            .lanes = lanes,
            .allow_one_lane = true,
            .reuse_arena = options.reuse_arena};
  }
  void require_weights() const {
    if (!unset.empty()) fail<ValueError>("weight '{}' has no value yet", *unset.begin());
  }
  void require_run() const {
    if (!has_run) fail<ValueError>("the computation has not run yet");
  }

  ComputationOptions options;
  int n_workers;
  Workers workers;
  Assignment assignment;
  Graph graph;
  Buffers weights, states;
  std::set<std::string> unset;  // weights without a value
  Runnable runnable;
  bool has_run = false;
};

Computation::Computation(const Graph& graph, const ComputationOptions& options)
    : impl_(std::make_unique<Impl>(graph, options)) {}
Computation::~Computation() = default;
Computation::Computation(Computation&&) noexcept = default;

void Computation::set_weight(std::string_view name, std::span<const std::byte> bytes) {
  Buffer& buffer = find_buffer(impl_->weights, "weight", name);
  const Node& node = impl_->graph[impl_->graph.find(name)];
  if (std::ssize(bytes) != node.spec.bytes())
    fail<ValueError>("weight '{}' is {} and has {} bytes, got {}", name, to_string(node.spec),
                     node.spec.bytes(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  impl_->unset.erase(std::string(name));
}

std::span<std::byte> Computation::input(std::string_view name) {
  const NodeId id = impl_->graph.find(name);
  if (id == kNoNode || impl_->graph[id].kind != NodeKind::input) refuse_path("input", name);
  return impl_->runnable.executor.input(name);
}

std::span<std::byte> Computation::state(std::string_view name) {
  return find_buffer(impl_->states, "state", name).bytes();
}

void Computation::run(const Extents& extents, const std::atomic<bool>* cancel) {
  impl_->require_weights();
  impl_->has_run = false;  // a run that fails has no outputs
  impl_->runnable.executor.run(extents, cancel);
  impl_->has_run = true;
}

VerifyReport Computation::verify(const Extents& extents, const std::atomic<bool>* cancel) {
  impl_->require_weights();
  Runnable alone(impl_->graph, impl_->assignment, impl_->plan_options(1), impl_->weights,
                 impl_->states, impl_->workers);
  for (NodeId id = 0; id < impl_->graph.size(); ++id) {
    const Node& node = impl_->graph[id];
    if (node.kind == NodeKind::input)
      std::ranges::copy(impl_->runnable.executor.input(node.path),
                        alone.executor.input(node.path).begin());
  }
  Verifier verifier(impl_->graph, alone.plan);
  alone.executor.run(extents, cancel, &verifier);
  return verifier.report();
}

View Computation::output(std::string_view name) const {
  impl_->require_run();
  const auto& outputs = impl_->graph.outputs();
  if (std::ranges::find(outputs, name, &Graph::Output::name) == outputs.end())
    refuse_path("output", name);
  return impl_->runnable.executor.output(name);
}

View Computation::value(std::string_view path) const {
  impl_->require_run();
  if (impl_->options.reuse_arena)
    fail<ValueError>("tensors share memory: plan the computation without reuse to see '{}'", path);
  const NodeId id = impl_->graph.find(path);
  if (id == kNoNode) refuse_path("node", path);
  return impl_->runnable.executor.value(id);
}

const Graph& Computation::graph() const {
  return impl_->graph;
}

const Plan& Computation::plan() const {
  return impl_->runnable.plan;
}

}  // namespace weft

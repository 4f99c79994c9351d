#include "weft/scheduler/computation.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"
#include "weft/scheduler/poll.h"
#include "weft/scheduler/workers.h"

namespace weft {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// The bytes of weights and states.
std::int64_t lasting_bytes(const Graph& graph) {
  std::int64_t total = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeKind kind = graph[id].kind;
    const bool lasts = kind == NodeKind::weight || kind == NodeKind::state;
    if (lasts && __builtin_add_overflow(total, graph[id].spec.bytes(), &total)) return kUnlimited;
  }
  return total;
}

// Throws BudgetError unless the memory of a plan and `held` bytes fit. Returns their sum.
std::int64_t require_fit(std::int64_t held, const Plan& plan, const ComputationOptions& options) {
  const std::int64_t budget = options.mem_budget > 0 ? options.mem_budget : default_budget();
  std::int64_t needed = held;
  if (__builtin_add_overflow(needed, plan.arena_bytes + plan.scratch_bytes, &needed))
    needed = kUnlimited;
  if (needed > budget)
    fail<BudgetError>("the computation needs {}, the memory budget is {}", human_bytes(needed),
                      human_bytes(budget));
  return needed;
}

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
  Runnable(const Graph& graph, const Assignment& assignment, Plan made, Buffers& weights,
           Buffers& states, Workers& workers)
      : plan(std::move(made)),
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

// States belong to the caller, who reads and writes what the graph says.
std::vector<std::string> passes_off(const ComputationOptions& o) {
  std::vector<std::string> off = o.passes_off;
  off.emplace_back("turn_cache");
  return off;
}

}  // namespace

struct Computation::Impl {
  Impl(const Graph& given, const ComputationOptions& o)
      : options(o),
        poll(o.poll),
        n_workers(o.workers > 0 ? o.workers : default_workers()),
        workers(n_workers),
        assignment(assignment_of(o, given)),
        graph(optimize(given, assignment, {.off = passes_off(o)})),
        plan(make_plan(graph, assignment, plan_options(n_workers))),
        held(require_fit(lasting_bytes(graph), plan, o)),
        weights(buffers_of(graph, NodeKind::weight)),
        states(buffers_of(graph, NodeKind::state)),
        runnable(graph, assignment, std::move(plan), weights, states, workers) {
    for (const auto& [path, buffer] : weights) unset.insert(path);
  }

  PlanOptions plan_options(int lanes) const {
    return {.name = "computation",
            .lanes = lanes,
            .allow_one_lane = true,
            .separate_tensors = options.separate_tensors};
  }
  void require_weights() const {
    if (!unset.empty()) fail<ValueError>("weight '{}' has no value yet", *unset.begin());
  }
  void require_run() const {
    if (!has_run) fail<ValueError>("the computation has not run yet");
  }

  ComputationOptions options;
  Poll poll;
  int n_workers;
  Workers workers;
  Assignment assignment;
  Graph graph;
  Plan plan;          // moved into `runnable`
  std::int64_t held;  // bytes of all tensors and of kernels
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
  impl_->runnable.executor.run(
      extents, {.cancel = cancel, .poll = impl_->options.poll ? &impl_->poll : nullptr});
  impl_->has_run = true;
}

VerifyReport Computation::verify(const Extents& extents, const std::atomic<bool>* cancel) {
  impl_->require_weights();
  Plan plan = make_plan(impl_->graph, impl_->assignment, impl_->plan_options(1));
  require_fit(impl_->held, plan, impl_->options);
  Runnable alone(impl_->graph, impl_->assignment, std::move(plan), impl_->weights, impl_->states,
                 impl_->workers);
  for (NodeId id = 0; id < impl_->graph.size(); ++id) {
    const Node& node = impl_->graph[id];
    if (node.kind == NodeKind::input)
      std::ranges::copy(impl_->runnable.executor.input(node.path),
                        alone.executor.input(node.path).begin());
  }
  Verifier verifier(impl_->graph, alone.plan);
  alone.executor.run(extents, {.cancel = cancel, .observer = &verifier});
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
  if (!impl_->options.separate_tensors)
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

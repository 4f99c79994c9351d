#include "weft/scheduler/executor.h"

#include <optional>

#include "weft/graph/error.h"

#include "flow.h"
#include "memory_map.h"
#include "program.h"

namespace weft {

struct Executor::Impl {
  const Graph& graph;
  const Plan& plan;
  MemoryMap memory;
  Program program;
  Extents extents;
  std::optional<Flow> flow;  // more than one lane only

  // Of the run in progress.
  const std::atomic<bool>* cancel = nullptr;
  NodeObserver* observer = nullptr;
  std::atomic<bool> stopped{false};

  Impl(const Graph& g, const Plan& p, const Backend& backend, const Bindings& bindings)
      : graph(g),
        plan(p),
        memory(g, p, bindings),
        program(g, p, backend, memory, bindings.scratch),
        extents(g.bounds()) {}

  void set_extents(const Extents& wanted);
  void run_lane(int stage, int lane) noexcept;
  View sized(View view, const Shape& shape) const;
};

void Executor::Impl::set_extents(const Extents& wanted) {
  bool changed = false;
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    const Variable& variable = plan.variables[i];
    if (wanted[i] < 1 || wanted[i] > variable.bound) {
      fail<ValueError>("variable {} must be 1 to {} in plan '{}', got {}", variable.name,
                       variable.bound, plan.name, wanted[i]);
    }
    changed |= wanted[i] != extents[i];
  }
  if (!changed) return;
  extents = wanted;
  program.set_extents(wanted);
}

void Executor::Impl::run_lane(int stage, int lane) noexcept {
  for (const Call& call : program.calls(stage, lane)) {
    if (stopped.load(std::memory_order_relaxed)) return;
    if (cancel && cancel->load(std::memory_order_relaxed)) {
      stopped.store(true, std::memory_order_relaxed);
      return;
    }
    for_each_region(call, plan.lanes, [&](const Region& region) {
      if (observer) observer->before(*call.step, lane, call.args, region);
      call.run(call.args, region);
      if (observer) observer->after(*call.step, lane, call.args, region);
    });
  }
}

View Executor::Impl::sized(View view, const Shape& shape) const {
  if (view.rank > 0) view.dims[0] = shape[0].extent(extents);
  return view;
}

Executor::Executor(const Graph& graph, const Plan& plan, const Backend& backend,
                   const Bindings& bindings, Workers& workers)
    : impl_(std::make_unique<Impl>(graph, plan, backend, bindings)) {
  if (plan.lanes == 1) return;
  const auto has_work = [&](int stage, int lane) {
    return !impl_->program.calls(stage, lane).empty();
  };
  impl_->flow.emplace(workers, plan.stages, plan.lanes, has_work,
                      [impl = impl_.get()](int stage, int lane) { impl->run_lane(stage, lane); });
}

Executor::~Executor() = default;

std::span<std::byte> Executor::input(std::string_view path) {
  const NodeId id = impl_->graph.find(path);
  if (id == kNoNode || impl_->graph[id].kind != NodeKind::input)
    fail<ValueError>("the graph has no input '{}'", path);
  const View view = impl_->memory.view(id, 0);
  return {view.data, static_cast<std::size_t>(impl_->graph[id].spec.bytes())};
}

void Executor::run(const Extents& extents, const std::atomic<bool>* cancel,
                   NodeObserver* observer) {
  impl_->set_extents(extents);
  impl_->cancel = cancel;
  impl_->observer = observer;
  impl_->stopped.store(false, std::memory_order_relaxed);
  if (impl_->flow) {
    impl_->flow->run();
  } else {
    for (int stage = 0; stage < impl_->plan.stages; ++stage) impl_->run_lane(stage, 0);
  }
  if (impl_->stopped.load(std::memory_order_relaxed))
    fail<CancelledError>("plan '{}' was cancelled", impl_->plan.name);
}

View Executor::output(std::string_view name) const {
  for (const Graph::Output& output : impl_->graph.outputs()) {
    if (output.name == name) return value(output.node);
  }
  fail<ValueError>("the graph has no output '{}'", name);
}

View Executor::value(NodeId node) const {
  if (node < 0 || node >= impl_->graph.size()) fail<ValueError>("the graph has no node {}", node);
  return impl_->sized(impl_->memory.view(node, 0), impl_->graph[node].spec.shape);
}

}  // namespace weft

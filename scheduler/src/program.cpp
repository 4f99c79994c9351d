#include "program.h"

#include "weft/graph/error.h"

namespace weft {
namespace {

Kernel kernel_of(const Graph& graph, const Backend& backend, const PlanStep& step) {
  const auto kernel = backend.find(graph, graph[step.node]);
  if (!kernel || kernel->row != step.kernel) {
    fail<ValueError>("'{}' was planned with the kernel '{}', backend {} has '{}'", step.path,
                     step.kernel, backend.name(), kernel ? kernel->row : "none");
  }
  return *kernel;
}

bool takes_part(const PlanStep& step, int lane) {
  if (step.split == Split::one) return step.lane == lane;
  return step.split != Split::cols || !step.cols[static_cast<std::size_t>(lane)].empty();
}

}  // namespace

Program::Program(const Graph& graph, const Plan& plan, const Backend& backend,
                 const MemoryMap& memory, std::span<std::byte> scratch)
    : stages_(static_cast<std::size_t>(plan.stages)), lanes_(plan.lanes) {
  const std::size_t per_lane = static_cast<std::size_t>(plan.scratch_bytes / plan.lanes);
  std::vector<Kernel> kernels;
  for (const PlanStep& step : plan.steps) kernels.push_back(kernel_of(graph, backend, step));
  std::size_t first = 0;
  for (int stage = 0; stage < plan.stages; ++stage) {
    std::size_t last = first;
    while (last < plan.steps.size() && plan.steps[last].stage == stage) ++last;
    for (int lane = 0; lane < plan.lanes; ++lane) {
      const std::size_t begin = calls_.size();
      for (std::size_t i = first; i < last; ++i) {
        if (takes_part(plan.steps[i], lane)) add(graph, kernels[i], plan.steps[i], lane, memory);
      }
      for (std::size_t i = begin; i < calls_.size(); ++i) {
        calls_[i].args.scratch =
            scratch.subspan(static_cast<std::size_t>(lane) * per_lane, per_lane);
      }
      ranges_.emplace_back(begin, calls_.size());
    }
    first = last;
  }
  if (first != plan.steps.size())
    fail<ValueError>("the steps of plan '{}' are not in the order of their stages", plan.name);
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Node& node = graph[calls_[i].step->node];
    calls_[i].args.in = inputs_[i];
    watch(node.spec.shape.begin(), calls_[i].args.out);
    for (std::size_t n = 0; n < node.inputs.size(); ++n) {
      if (node.inputs[n] != kNoNode) watch(graph[node.inputs[n]].spec.shape.begin(), inputs_[i][n]);
    }
  }
}

void Program::add(const Graph& graph, const Kernel& kernel, const PlanStep& step, int lane,
                  const MemoryMap& memory) {
  const Node& node = graph[step.node];
  Call call{.run = kernel.run, .step = &step, .lane = lane};
  call.args.op = node.op;
  call.args.attrs = &node.attrs;
  call.args.out = memory.view(step.node, lane);
  if (step.split == Split::cols) call.cols = step.cols[static_cast<std::size_t>(lane)];
  std::vector<View> in;
  for (const NodeId id : node.inputs) in.push_back(memory.view(id, lane));
  inputs_.push_back(std::move(in));
  calls_.push_back(call);
}

void Program::watch(const Dim* dims, View& view) {
  if (view.rank > 0 && dims[0].varies()) extents_.emplace_back(&view.dims[0], dims[0].variable);
}

void Program::set_extents(const Extents& extents) {
  for (const auto& [at, variable] : extents_) *at = extents[static_cast<std::size_t>(variable)];
}

std::span<const Call> Program::calls(int stage, int lane) const {
  const std::size_t lanes = static_cast<std::size_t>(lanes_);
  const auto [begin, end] =
      ranges_[static_cast<std::size_t>(stage) * lanes + static_cast<std::size_t>(lane)];
  return std::span(calls_).subspan(begin, end - begin);
}

}  // namespace weft

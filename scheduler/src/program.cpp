#include "program.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {
namespace {

Kernel kernel_of(const Graph& graph, const Assignment& assignment, const PlanStep& step) {
  const auto kernel = assignment.find(graph, graph[step.node]);
  if (!kernel || kernel->row != step.kernel) {
    fail<ValueError>("'{}' was planned with the kernel '{}', backend {} has '{}'", step.path,
                     step.kernel, assignment.routes().name(), kernel ? kernel->row : "none");
  }
  return *kernel;
}

// Whether share `part` of `parts` has something to do in this step.
bool takes_part(const PlanStep& step, int part, int parts) {
  if (step.split == Split::one) return step.lane == part;
  if (step.split != Split::cols) return true;
  const auto& cols = std::ssize(step.cols) == parts ? step.cols : step.parts;
  return !cols[static_cast<std::size_t>(part)].empty();
}

}  // namespace

struct Program::Source {
  const Graph& graph;
  const Plan& plan;
  const MemoryMap& memory;
  const Bindings& bindings;
  std::vector<Kernel> kernels;  // by step
};

Program::Program(const Graph& graph, const Plan& plan, const Assignment& assignment,
                 const MemoryMap& memory, const Bindings& bindings, KernelFailure& failure) {
  Source from{graph, plan, memory, bindings, {}};
  for (const PlanStep& step : plan.steps)
    from.kernels.push_back(kernel_of(graph, assignment, step));
  std::size_t first = 0;
  for (std::int32_t stage = 0; stage < plan.stages; ++stage) {
    std::size_t last = first;
    while (last < plan.steps.size() && plan.steps[last].stage == stage) ++last;
    add_stage(from, stage, first, last);
    first = last;
  }
  if (first != plan.steps.size())
    fail<ValueError>("the steps of plan '{}' are not in the order of their stages", plan.name);
  bind_inputs(from);
  prepare(from, failure);
}

void Program::add_stage(const Source& from, std::int32_t stage, std::size_t first,
                        std::size_t last) {
  const int lanes = from.plan.lanes, shares = from.plan.shares_in(stage), parts = lanes * shares;
  const auto any = [](const PlanStep&) { return true; };
  const auto copied = [](const PlanStep& step) { return step.split == Split::copies; };
  const auto cut = [](const PlanStep& step) { return step.split != Split::copies; };
  Stage unit;
  if (shares == 1) {
    for (int lane = 0; lane < lanes; ++lane)
      unit.shares.push_back(add_unit(from, first, last, lane, lane, lanes, any));
  } else {
    unit.lanes = lanes;
    for (int part = 0; part < parts; ++part) {
      for (int lane = 0; lane < lanes; ++lane)
        unit.shares.push_back(add_unit(from, first, last, lane, part, parts, cut));
    }
    const auto begin = from.plan.steps.begin();
    if (std::any_of(begin + static_cast<std::ptrdiff_t>(first),
                    begin + static_cast<std::ptrdiff_t>(last), copied)) {
      for (int lane = 0; lane < lanes; ++lane)
        unit.copies.push_back(add_unit(from, first, last, lane, lane, lanes, copied));
    }
  }
  stages_.push_back({.shares = shares, .with_copies = !unit.copies.empty()});
  units_.push_back(std::move(unit));
}

// The calls of the wanted steps among [first, last) for one part, by a worker with the copies and
// the scratch memory of `lane`.
template <class Wanted>
Program::Range Program::add_unit(const Source& from, std::size_t first, std::size_t last, int lane,
                                 int part, int parts, Wanted wanted) {
  const std::size_t begin = calls_.size();
  for (std::size_t i = first; i < last; ++i) {
    const PlanStep& step = from.plan.steps[i];
    if (wanted(step) && takes_part(step, part, parts)) add(from, i, lane, part, parts);
  }
  return {begin, calls_.size()};
}

void Program::add(const Source& from, std::size_t index, int lane, int part, int parts) {
  const PlanStep& step = from.plan.steps[index];
  const Node& node = from.graph[step.node];
  Call call{.run = from.kernels[index].run, .step = &step, .part = part, .parts = parts};
  call.args.op = node.op;
  call.args.attrs = &node.attrs;
  call.args.out = from.memory.view(step.node, lane);
  const std::size_t per_lane = static_cast<std::size_t>(from.plan.scratch_bytes / from.plan.lanes);
  call.args.scratch =
      from.bindings.scratch.subspan(static_cast<std::size_t>(lane) * per_lane, per_lane);
  const Kernel& kernel = from.kernels[index];
  const MemoryId memory = from.memory.memory_of(step.node);
  if (kernel.device && is_device(memory))
    call.args.scratch = from.bindings.devices[device_index(memory)].scratch;
  if (kernel.queued) call.device = kernel.backend->device();
  if (step.split == Split::cols) {
    const auto& cols = std::ssize(step.cols) == parts ? step.cols : step.parts;
    call.cols = cols[static_cast<std::size_t>(part)];
  }
  std::vector<View> in;
  for (const NodeId id : node.inputs) in.push_back(from.memory.view(id, lane, memory));
  inputs_.push_back(std::move(in));
  calls_.push_back(call);
}

// When no call moves any more.
void Program::bind_inputs(const Source& from) {
  const Graph& graph = from.graph;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Node& node = graph[calls_[i].step->node];
    calls_[i].args.in = inputs_[i];
    watch(node.spec.shape.begin(), calls_[i].args.out);
    for (std::size_t n = 0; n < node.inputs.size(); ++n) {
      if (node.inputs[n] != kNoNode) watch(graph[node.inputs[n]].spec.shape.begin(), inputs_[i][n]);
    }
  }
}

void Program::prepare(const Source& from, KernelFailure& failure) {
  for (Call& call : calls_) {
    const auto step = static_cast<std::size_t>(call.step - from.plan.steps.data());
    auto made = from.kernels[step].backend->prepare(from.graph, from.graph[call.step->node],
                                                    call.args, failure);
    call.args.prepared = made.get();
    if (made) prepared_.push_back(std::move(made));
  }
}

void Program::watch(const Dim* dims, View& view) {
  if (view.rank > 0 && dims[0].varies()) extents_.emplace_back(&view.dims[0], dims[0].variable);
}

void Program::set_extents(const Extents& extents) {
  for (const auto& [at, variable] : extents_) *at = extents[static_cast<std::size_t>(variable)];
}

std::span<const Call> Program::share(int stage, int index, int worker) const {
  const Stage& unit = units_[static_cast<std::size_t>(stage)];
  const int at = unit.lanes == 1 ? index : index * unit.lanes + worker;
  const auto [begin, end] = unit.shares[static_cast<std::size_t>(at)];
  return std::span(calls_).subspan(begin, end - begin);
}

std::span<const Call> Program::copies(int stage, int lane) const {
  const auto [begin, end] =
      units_[static_cast<std::size_t>(stage)].copies[static_cast<std::size_t>(lane)];
  return std::span(calls_).subspan(begin, end - begin);
}

}  // namespace weft

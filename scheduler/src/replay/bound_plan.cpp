#include "replay/bound_plan.h"

#include <algorithm>

#include "weft/base/error.h"

#include "exchange/all_reduce.h"

namespace weft::scheduler {
namespace {

Kernel kernel_of(const Graph& graph, const Assignment& assignment, const PlanStep& step) {
  const auto kernel = assignment.find(graph, graph[step.node]);
  if (!kernel || kernel->row != step.kernel) {
    fail<ValueError>("'{}' was planned with kernel '{}', but backend {} has '{}'", step.path,
                     step.kernel, assignment.routes().name(), kernel ? kernel->row : "none");
  }
  return *kernel;
}

}  // namespace

struct BoundPlan::Source {
  const Graph& graph;
  const Plan& plan;
  const MemoryMap& memory;
  const Bindings& bindings;
  std::vector<Kernel> kernels;  // by step
};

namespace {

std::vector<int> units_of(const WeightStream& stream, const Graph& graph, const Node& node) {
  std::vector<int> units;
  for (const NodeId id : node.inputs) {
    if (id == kNoNode || graph[id].kind != NodeKind::weight) continue;
    const int unit = stream.unit_of(graph[id]);
    if (unit != kNoUnit && std::ranges::count(units, unit) == 0) units.push_back(unit);
  }
  return units;
}

}  // namespace

BoundPlan::BoundPlan(const Graph& graph, const Plan& plan, const std::vector<PieceGroup>& pieces,
                     const Assignment& assignment, const MemoryMap& memory,
                     const Bindings& bindings, KernelFailure& failure)
    : calls_of_stages_(static_cast<std::size_t>(plan.stages)), stages_(calls_of_stages_.size()) {
  if (!std::ranges::is_sorted(plan.steps, {}, &PlanStep::stage))
    fail<ValueError>("the steps of plan '{}' are not in the order of their stages", plan.name);
  Source from{graph, plan, memory, bindings, {}};
  for (const PlanStep& step : plan.steps)
    from.kernels.push_back(kernel_of(graph, assignment, step));
  if (bindings.stream) {
    for (const PlanStep& step : plan.steps)
      units_of_steps_.push_back(units_of(*bindings.stream, graph, graph[step.node]));
  }
  for (std::size_t stage = 0; stage < calls_of_stages_.size(); ++stage) {
    const int shares = plan.shares_in(static_cast<std::int32_t>(stage));
    stages_[stage].shares = shares;
    calls_of_stages_[stage].workers = shares == 1 ? 1 : plan.lanes;
    const int n_calls = plan.lanes * shares * calls_of_stages_[stage].workers;
    calls_of_stages_[stage].shares.resize(static_cast<std::size_t>(n_calls));
  }
  for (const PieceGroup& group : pieces) {
    for (const Piece& piece : group) add_piece(from, piece);
  }
  bind_inputs(from);
  if (bindings.link) exchanges_.emplace(*bindings.link);
  prepare(from, failure);
}

void BoundPlan::add_piece(const Source& from, const Piece& piece) {
  const int lanes = from.plan.lanes, shares = from.plan.shares_in(piece.stage);
  StageCalls& calls = calls_of_stages_[static_cast<std::size_t>(piece.stage)];
  if (piece.copies) {
    stages_[static_cast<std::size_t>(piece.stage)].with_copies = true;
    calls.copies.resize(static_cast<std::size_t>(lanes));
    calls.copies[static_cast<std::size_t>(piece.lane)] =
        add_calls(from, piece, piece.lane, piece.lane, lanes);
    return;
  }
  const int index = piece.lane * shares + piece.share;
  for (int worker = 0; worker < calls.workers; ++worker) {
    const int of_worker = index * calls.workers + worker;
    calls.shares[static_cast<std::size_t>(of_worker)] =
        add_calls(from, piece, shares == 1 ? piece.lane : worker, index, lanes * shares);
  }
}

// Adds the calls of a piece, which computes part `part` of `parts` of its steps, for a worker with
// the copies and the scratch memory of `lane`.
BoundPlan::Range BoundPlan::add_calls(const Source& from, const Piece& piece, int lane, int part,
                                      int parts) {
  const std::size_t begin = calls_.size();
  for (const std::size_t step : piece.steps) add(from, step, lane, part, parts);
  return {begin, calls_.size()};
}

void BoundPlan::add(const Source& from, std::size_t index, int lane, int part, int parts) {
  const PlanStep& step = from.plan.steps[index];
  const Node& node = from.graph[step.node];
  KernelCall call{.run = from.kernels[index].run, .step = &step, .part = part, .parts = parts};
  if (!units_of_steps_.empty()) call.units = units_of_steps_[index];
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
    if (call.cols.size() > 1) call.run_cols = kernel.run_cols;
  }
  std::vector<View> in;
  for (const NodeId id : node.inputs) in.push_back(from.memory.view(id, lane, memory));
  inputs_.push_back(std::move(in));
  calls_.push_back(call);
}

// Called when calls_ does not reallocate any more.
void BoundPlan::bind_inputs(const Source& from) {
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

void BoundPlan::prepare(const Source& from, KernelFailure& failure) {
  for (KernelCall& call : calls_) {
    const auto step = static_cast<std::size_t>(call.step - from.plan.steps.data());
    if (call.args.op->collective) {
      prepare_exchange(from, call, failure);
      continue;
    }
    auto made = from.kernels[step].backend->prepare(from.graph, from.graph[call.step->node],
                                                    call.args, failure);
    call.args.prepared = made.get();
    if (made) prepared_.push_back(std::move(made));
  }
  if (exchanges_ && !exchanges_->empty()) feed_exchanges(from.graph);
}

// Calls of the same node, for several workers, have one exchange. One lane runs all of them, in the
// order of the graph.
void BoundPlan::prepare_exchange(const Source& from, KernelCall& call, KernelFailure& failure) {
  const auto same = [&](const KernelCall& other) {
    return other.step == call.step && other.args.prepared;
  };
  if (const auto made = std::ranges::find_if(calls_, same); made != calls_.end()) {
    call.args.prepared = made->args.prepared;
    return;
  }
  const Node& node = from.graph[call.step->node];
  if (!exchanges_)
    fail<ValueError>("'{}' exchanges with other ranks, but the plan is bound to none", node.path);
  call.args.prepared = &exchanges_->add(from.graph, node, call.args, failure);
}

// Links the calls that compute terms of sums, if these are sent in several ranges of columns.
void BoundPlan::feed_exchanges(const Graph& graph) {
  for (const KernelCall& sum : calls_) {
    if (!sum.args.op->collective) continue;
    AllReduce* const exchange = static_cast<Exchange*>(sum.args.prepared)->takes_columns();
    if (!exchange) continue;
    const NodeId terms = graph[sum.step->node].inputs[0];
    for (KernelCall& call : calls_) {
      const bool whole_rows = call.step->split == Split::cols || call.step->split == Split::one;
      if (call.step->node == terms && whole_rows && !call.device) call.feeds = exchange;
    }
  }
}

void BoundPlan::watch(const Dim* dims, View& view) {
  if (view.n_dims > 0 && dims[0].varies()) extents_.emplace_back(&view.dims[0], dims[0].variable);
}

void BoundPlan::set_extents(const Extents& extents) {
  for (const auto& [at, variable] : extents_) *at = extents[static_cast<std::size_t>(variable)];
}

std::vector<std::int32_t> BoundPlan::uses_of_units(const std::vector<PieceGroup>& pieces,
                                                   const WeightStream& stream) const {
  std::vector<std::int32_t> uses(stream.n_units());
  for (const PieceGroup& group : pieces) {
    for (const Piece& piece : group) {
      for (const std::size_t step : piece.steps)
        for (const int unit : units_of_steps_[step]) ++uses[static_cast<std::size_t>(unit)];
    }
  }
  return uses;
}

std::span<const KernelCall> BoundPlan::share(int stage, int index, int worker) const {
  const StageCalls& calls = calls_of_stages_[static_cast<std::size_t>(stage)];
  const int at = calls.workers == 1 ? index : index * calls.workers + worker;
  const auto [begin, end] = calls.shares[static_cast<std::size_t>(at)];
  return std::span(calls_).subspan(begin, end - begin);
}

std::span<const KernelCall> BoundPlan::copies(int stage, int lane) const {
  const auto [begin, end] =
      calls_of_stages_[static_cast<std::size_t>(stage)].copies[static_cast<std::size_t>(lane)];
  return std::span(calls_).subspan(begin, end - begin);
}

}  // namespace weft::scheduler

#include "weft/scheduler/executor.h"

#include <algorithm>
#include <optional>

#include "weft/base/error.h"

#include "exchange/all_reduce.h"
#include "replay/bound_plan.h"
#include "replay/host_copies.h"
#include "replay/memory_map.h"
#include "replay/poison.h"
#include "replay/poll_observer.h"
#include "replay/replay.h"

namespace weft {

using namespace scheduler;

struct Executor::Impl final : ReplayJob {
  const Graph& graph;
  const Plan& plan;
  const std::vector<PieceGroup> pieces;
  MemoryMap memory;
  KernelFailure failure;
  BoundPlan bound_plan;
  std::optional<Poison> poison;
  std::unique_ptr<Replay> replay;  // null: the calling thread does everything
  Extents extents;
  WeightStream* stream = nullptr;
  Exchanges* const exchanges;               // null: there are no other ranks
  std::vector<std::int32_t> uses_of_units;  // by unit of the stream

  // The run in progress.
  const std::atomic<bool>* cancel = nullptr;
  NodeObserver* observer = nullptr;  // `polling` if the run has a poll
  std::atomic<bool> stopped{false};
  std::int32_t n_stages = 0;
  PollObserver polling{stopped};

  Impl(const Graph& g, const Plan& p, const Assignment& assignment, const Bindings& bindings,
       Workers& w, const ExecutorOptions& options)
      : graph(g),
        plan(p),
        pieces(pieces_of(p)),
        memory(g, p, bindings),
        bound_plan(g, p, pieces, assignment, memory, bindings, failure),
        extents(g.bounds()),
        stream(bindings.stream),
        exchanges(bound_plan.exchanges()) {
    if (stream) uses_of_units = bound_plan.uses_of_units(pieces, *stream);
    if (options.poison.value_or(poison_wanted())) poison.emplace(g, p, bindings.arena);
    if (p.replay != ReplayKind::alone && p.lanes > 1 && w.count() > 1 && !poison)
      replay = make_replay(p.replay, *this, pieces, w);
  }

  std::span<const ReplayStage> stages() const override { return bound_plan.stages(); }
  int lanes() const override { return plan.lanes; }
  void share(int stage, int index, int worker) noexcept override {
    if (stage < n_stages) run_calls(bound_plan.share(stage, index, worker), worker);
  }
  void copies(int stage, int lane, int worker) noexcept override {
    if (stage < n_stages) run_calls(bound_plan.copies(stage, lane), worker);
  }
  void run_alone() noexcept;
  bool has_ended() const noexcept;
  void begin(const RunOptions& options);
  void finish(bool polled);

  void stop_run() noexcept { stopped.store(true, std::memory_order_relaxed); }
  void set_extents(const Extents& wanted);
  void run_calls(std::span<const KernelCall> calls, int worker) noexcept;
  void run_call(const KernelCall& call, int worker) noexcept;
  void run_cols(const KernelCall& call, int worker) noexcept;
  void run_and_feed(const KernelCall& call, int worker) noexcept;
  bool acquire(const KernelCall& call) noexcept;
  bool release(const KernelCall& call) noexcept;
  void run_observed(const KernelCall& call, int worker, const Region& region) noexcept;
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
  bound_plan.set_extents(wanted);
}

void Executor::Impl::run_calls(std::span<const KernelCall> calls, int worker) noexcept {
  if (observer) observer->begin(worker);
  for (const KernelCall& call : calls) {
    if (stopped.load(std::memory_order_relaxed)) return;
    if (cancel && cancel->load(std::memory_order_relaxed)) return stop_run();
    if (!acquire(call)) return stop_run();
    run_call(call, worker);
    if (!release(call)) return stop_run();
    if ((call.args.prepared || call.feeds) && (failure.raised() || has_ended())) stop_run();
  }
}

// Whether the run ended on another rank.
bool Executor::Impl::has_ended() const noexcept {
  return exchanges && exchanges->has_ended();
}

bool Executor::Impl::acquire(const KernelCall& call) noexcept {
  if (call.units.empty()) return true;
  const auto [row0, row1] = rows_of(call);
  for (const int unit : call.units)
    if (!stream->acquire(unit, call.args.in, row0, row1)) return false;
  return true;
}

bool Executor::Impl::release(const KernelCall& call) noexcept {
  for (const int unit : call.units)
    if (!stream->release(unit)) return false;
  return true;
}

void Executor::Impl::run_call(const KernelCall& call, int worker) noexcept {
  const bool looks = poison || (observer && observer->reads_values());
  if (call.feeds && !looks) return run_and_feed(call, worker);
  if (call.run_cols && !call.device && !looks) return run_cols(call, worker);
  for_each_region(call, [&](const Region& region) {
    if (observer && call.device) return run_observed(call, worker, region);
    if (poison && !call.device) Poison::before_call(call.args);
    if (observer) observer->before(*call.step, worker, call.args, region);
    call.run(call.args, region);
    if (poison && !call.device) poison->after_call(*call.step, call.args, region);
    if (observer) observer->after(*call.step, worker, call.args, region);
  });
}

// All ranges of columns in one call. The observer sees the range that they span.
void Executor::Impl::run_cols(const KernelCall& call, int worker) noexcept {
  const Region span{0, call.args.out.rows(), call.cols.front().begin, call.cols.back().end};
  if (observer) observer->before(*call.step, worker, call.args, span);
  call.run_cols(call.args, call.cols);
  if (observer) observer->after(*call.step, worker, call.args, span);
}

// Computes the columns in the ranges that the exchange sends. The observer sees all of them at
// once.
void Executor::Impl::run_and_feed(const KernelCall& call, int worker) noexcept {
  const std::span<const std::int64_t> ends = call.feeds->chunk_ends();
  for_each_region(call, [&](const Region& region) {
    if (observer) observer->before(*call.step, worker, call.args, region);
    Region part = region;
    for (const std::int64_t end : ends) {
      if (part.col0 >= region.col1) break;
      part.col1 = std::min(end, region.col1);
      if (part.empty()) continue;
      call.run(call.args, part);
      call.feeds->computed(part.col0, part.col1);
      part.col0 = part.col1;
    }
    if (observer) observer->after(*call.step, worker, call.args, region);
  });
}

// For a node on a device, the observer is called when the work is done, not when it is queued.
void Executor::Impl::run_observed(const KernelCall& call, int worker,
                                  const Region& region) noexcept {
  try {
    HostCopies copies(call, observer->reads_values());
    copies.fetch_inputs();
    observer->before(*call.step, worker, copies.args(), region);
    call.run(call.args, region);
    if (failure.raised()) return;
    call.device->finish();
    copies.fetch_output();
    observer->after(*call.step, worker, copies.args(), region);
  } catch (const std::exception& error) {
    failure.raise(fmt::format("{} ({} '{}')", error.what(), call.step->op, call.step->path));
  }
}

// Runs all lanes one after the other on the calling thread.
void Executor::Impl::run_alone() noexcept {
  if (poison) poison->begin();
  for (int stage = 0; stage < plan.stages; ++stage) {
    const ReplayStage& of_stage = stages()[static_cast<std::size_t>(stage)];
    for (int lane = 0; of_stage.with_copies && lane < plan.lanes; ++lane) copies(stage, lane, 0);
    for (int index = 0; index < plan.lanes * of_stage.shares; ++index) share(stage, index, 0);
    if (poison) poison->end_stage(stage);
  }
}

View Executor::Impl::sized(View view, const Shape& shape) const {
  if (view.n_dims > 0) view.dims[0] = shape[0].extent(extents);
  return view;
}

Executor::Executor(const Graph& graph, const Plan& plan, const Assignment& assignment,
                   const Bindings& bindings, Workers& workers, const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(graph, plan, assignment, bindings, workers, options)) {}

Executor::~Executor() = default;

std::span<std::byte> Executor::input(std::string_view path) {
  const NodeId id = impl_->graph.find(path);
  if (id == kNoNode || impl_->graph[id].kind != NodeKind::input)
    fail<ValueError>("the graph has no input '{}'", path);
  const View view = impl_->memory.view(id, 0);
  return {view.data, static_cast<std::size_t>(impl_->graph[id].spec.bytes())};
}

void Executor::Impl::begin(const RunOptions& options) {
  cancel = options.cancel;
  observer = options.poll ? polling.begin_run(*options.poll, options.observer) : options.observer;
  stopped.store(false, std::memory_order_relaxed);
  n_stages = options.stages < 0 ? plan.stages : options.stages;
  if (stream) stream->begin(uses_of_units, cancel, stopped);  // may throw
  if (exchanges) exchanges->begin(options.results, options.check);
}

// Throws what ended the run early.
void Executor::Impl::finish(bool polled) {
  if (stream) stream->end();
  std::string text = failure.take();
  const bool ended_early = stopped.load(std::memory_order_relaxed);
  if (exchanges && ended_early) {
    exchanges->give_up(text);
    if (const auto& loss = exchanges->loss()) throw RankError(*loss);
  }
  if (!text.empty()) throw KernelError(text);
  if (ended_early && polled) polling.rethrow();
  if (ended_early) fail<CancelledError>("plan '{}' was cancelled", plan.name);
  if (poison && !poison->finding().empty())
    fail<Error>("plan '{}': {}", plan.name, poison->finding());
}

void Executor::run(const Extents& extents, const RunOptions& options) {
  impl_->set_extents(extents);
  impl_->begin(options);
  impl_->replay ? impl_->replay->run() : impl_->run_alone();
  impl_->finish(options.poll != nullptr);
}

bool Executor::has_output(std::string_view name) const {
  return std::ranges::find(impl_->graph.outputs(), name, &Graph::Output::name) !=
         impl_->graph.outputs().end();
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

#include "weft/run/session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/cache_cells.h"
#include "weft/run/nan_error.h"
#include "weft/scheduler/workers.h"

#include "device_memory.h"
#include "model_impl.h"
#include "noise.h"
#include "session_plan.h"
#include "session_runner.h"

namespace weft {
namespace {

bool has_nan(std::span<const float> values) {
  bool found = false;
  for (const float v : values) found |= v != v;
  return found;
}

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Model> m, const SessionOptions& options)
      : model(std::move(m)),
        planned(plan_model(*model, options)),
        weights(load_weights()),
        workers(planned.options.workers),
        states(planned.memory.state),
        arena(planned.memory.arena),
        scratch(planned.memory.scratch),
        runners(planned.plans.size()),
        lengths(static_cast<std::size_t>(planned.options.sequences)),
        next(lengths.size()),
        chunk(static_cast<std::size_t>(planned.options.prefill_width)) {
    std::byte* at = states.data();
    for (const DeviceUse& use : device_use(planned.graphs, planned.plans))
      devices.push_back(std::make_unique<DeviceMemory>(*model, use));
    for (const Node* state : states_in_order()) {
      if (is_on_device(*state)) {
        off_host = state->path;
        continue;
      }
      state_at.emplace(state->path, at);
      caches.push_back({at, cell_bytes(state->spec)});
      at += align_up(state->spec.bytes());
    }
  }

  // A state in the host's memory.
  struct Cache {
    std::byte* cells;
    std::int64_t cell_bytes;
  };

  std::vector<const Node*> states_in_order() const;
  bool is_on_device(const Node& state) const;
  std::shared_ptr<const ResidentWeights> load_weights() const;
  const std::byte* weight(const Node& node) const;
  std::size_t plan_for(std::size_t n_tokens) const;
  Runner& runner(std::size_t n_tokens);
  void check_tokens(std::span<const std::int32_t> tokens) const;
  void check_sequence(std::int64_t sequence) const;
  void check_room(std::int64_t sequence, std::int64_t length) const;
  void check_length(std::int64_t sequence, std::int64_t length) const;
  void check_on_host() const;
  void check_step(std::span<const StepToken> tokens);
  std::size_t write_inputs(Runner& r, std::span<const StepToken> tokens);
  void check_logits(std::span<const StepToken> tokens, const View& rows) const;
  std::span<const float> step(std::span<const StepToken> tokens, const std::atomic<bool>* cancel,
                              NodeObserver* observer);

  std::shared_ptr<const Model> model;
  PlannedModel planned;
  std::shared_ptr<const ResidentWeights> weights;  // null where all stay in the file
  Workers workers;
  Buffer states, arena, scratch;
  std::vector<std::unique_ptr<DeviceMemory>> devices;
  std::unordered_map<std::string, std::byte*> state_at;
  std::vector<Cache> caches;  // in the order of the graph
  std::string off_host;       // a state in the memory of a device; empty where there is none
  std::vector<std::unique_ptr<Runner>> runners;  // by width class; null until first used
  std::vector<std::int64_t> lengths;             // by sequence
  std::vector<std::int64_t> next;                // lengths after the step that is being made
  std::vector<StepToken> chunk;                  // of feed(), so that it allocates nothing
  std::span<const float> last;                   // in the arena
};

std::vector<const Node*> Session::Impl::states_in_order() const {
  const Graph& graph = planned.graphs.front();
  std::vector<const Node*> found;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == NodeKind::state) found.push_back(&graph[id]);
  }
  return found;
}

bool Session::Impl::is_on_device(const Node& state) const {
  const NodeId id = planned.graphs.front().find(state.path);
  return is_device(planned.plans.front().placements[id].memory);
}

std::shared_ptr<const ResidentWeights> Session::Impl::load_weights() const {
  const WeightLayout layout = layout_weights(*model, planned);
  const LoadOptions options = load_options(*model, planned);
  std::shared_ptr<const ResidentWeights> region;
  if (layout.region_bytes > 0) region = model->impl().resident_weights(layout, options);
  if (planned.options.weights == WeightMode::resident) return region;
  // What does not fit would only push out what was read before.
  if (planned.memory.total() - layout.table_bytes <= planned.options.mem_budget)
    bring_in_mapped(model->file(), layout, options);
  return region;
}

const std::byte* Session::Impl::weight(const Node& node) const {
  const std::byte* data = weights ? weights->find(node.path) : nullptr;
  return data ? data : model->file().find_tensor(node.path)->data;
}

std::size_t Session::Impl::plan_for(std::size_t n_tokens) const {
  std::size_t i = 0;
  const auto bound = [&](std::size_t plan) {
    const std::vector<Variable>& variables = planned.graphs[plan].variables();
    return static_cast<std::size_t>(variables[Runner::index_of(variables, "T")].bound);
  };
  while (bound(i) < n_tokens) ++i;
  return i;
}

Runner& Session::Impl::runner(std::size_t n_tokens) {
  const std::size_t i = plan_for(n_tokens);
  if (!runners[i]) {
    Bindings bindings{.weight = [&](const Node& node) { return weight(node); },
                      .state = [&](const Node& node) { return state_at.at(node.path); },
                      .arena = arena.bytes(),
                      .scratch = scratch.bytes()};
    for (const PlanDevice& used : planned.plans[i].devices) {
      const auto at = std::ranges::find(devices, used.backend, &DeviceMemory::backend);
      bindings.devices.push_back((*at)->bindings());
    }
    runners[i] = std::make_unique<Runner>(planned.graphs[i], planned.plans[i],
                                          planned.assignments[i], bindings, workers);
  }
  return *runners[i];
}

void Session::Impl::check_tokens(std::span<const std::int32_t> tokens) const {
  const std::int64_t n_vocab = model->facts().n_vocab;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= n_vocab) {
      fail<ValueError>("token {} is outside the vocabulary of {}", token, n_vocab);
    }
  }
}

void Session::Impl::check_sequence(std::int64_t sequence) const {
  if (sequence < 0 || sequence >= std::ssize(lengths)) {
    fail<ValueError>("there is no sequence {}: the session has {}", sequence, lengths.size());
  }
}

void Session::Impl::check_room(std::int64_t sequence, std::int64_t length) const {
  if (length > planned.options.context) {
    fail<ValueError>("sequence {} would have {} tokens, its context holds {}", sequence, length,
                     planned.options.context);
  }
}

// That the sequence may have so many tokens.
void Session::Impl::check_length(std::int64_t sequence, std::int64_t length) const {
  check_sequence(sequence);
  if (length < 0) fail<ValueError>("sequence {} cannot have {} tokens", sequence, length);
  check_room(sequence, length);
}

void Session::Impl::check_on_host() const {
  if (off_host.empty()) return;
  fail<UnsupportedError>("the cache '{}' lies in the memory of a device: the host cannot read it",
                         off_host);
}

// Leaves the lengths after the step in `next`.
void Session::Impl::check_step(std::span<const StepToken> tokens) {
  const SessionOptions& o = planned.options;
  next = lengths;
  std::int64_t n_rows = 0;
  for (const StepToken& t : tokens) {
    check_tokens({&t.token, 1});
    check_sequence(t.sequence);
    check_room(t.sequence, ++next[static_cast<std::size_t>(t.sequence)]);
    n_rows += t.logits;
  }
  if (tokens.empty() || std::ssize(tokens) > o.prefill_width) {
    fail<ValueError>("a step has 1..{} tokens, got {}", o.prefill_width, tokens.size());
  }
  if (n_rows > o.logits_rows) {
    fail<ValueError>("a step gives at most {} rows of logits, {} were asked for", o.logits_rows,
                     n_rows);
  }
}

// Returns the number of rows of logits.
std::size_t Session::Impl::write_inputs(Runner& r, std::span<const StepToken> tokens) {
  const std::int64_t room = cells_per_sequence(planned.options);
  next = lengths;
  std::size_t n_rows = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const StepToken& t = tokens[i];
    const std::int64_t pos = next[static_cast<std::size_t>(t.sequence)]++;
    Runner::put(r.tokens, i, t.token);
    Runner::put(r.pos, i, pos);
    Runner::put(r.first, i, t.sequence * room);
    Runner::put(r.cells, i, t.sequence * room + pos);
    if (t.logits) Runner::put(r.out_rows, n_rows++, static_cast<std::int64_t>(i));
  }
  // An extent is at least 1: where nobody wants logits, one row is made and not looked at.
  if (n_rows == 0) Runner::put(r.out_rows, 0, 0);
  r.extents[r.t] = static_cast<std::int64_t>(tokens.size());
  r.extents[r.o] = static_cast<std::int64_t>(std::max<std::size_t>(n_rows, 1));
  return n_rows;
}

void Session::Impl::check_logits(std::span<const StepToken> tokens, const View& rows) const {
  std::int64_t row = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].logits) continue;
    if (has_nan({rows.row<const float>(row++), static_cast<std::size_t>(rows.cols())})) {
      const auto same = [&](const StepToken& t) { return t.sequence == tokens[i].sequence; };
      const auto before = std::count_if(tokens.begin(), tokens.begin() + std::ptrdiff_t(i), same);
      fail<NanError>("{}: logits are NaN at position {}: weights or file damaged; run weft verify",
                     model->file().path(),
                     lengths[static_cast<std::size_t>(tokens[i].sequence)] + before);
    }
  }
}

std::span<const float> Session::Impl::step(std::span<const StepToken> tokens,
                                           const std::atomic<bool>* cancel,
                                           NodeObserver* observer) {
  Runner& r = runner(tokens.size());
  last = {};
  const std::size_t n_rows = write_inputs(r, tokens);
  r.executor.run(r.extents, cancel, observer);
  const View rows = r.executor.output(planned.options.embeddings ? "embeddings" : "logits");
  check_logits(tokens, rows);
  lengths.swap(next);
  if (n_rows == 0) return {};
  const auto width = static_cast<std::size_t>(rows.cols());
  last = {rows.row<const float>(static_cast<std::int64_t>(n_rows - 1)), width};
  return {rows.row<const float>(0), n_rows * width};
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Session::~Session() = default;

void Session::feed(std::int32_t sequence, std::span<const std::int32_t> tokens,
                   const std::atomic<bool>* cancel,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Impl& s = *impl_;
  s.check_sequence(sequence);
  s.check_tokens(tokens);
  s.check_room(sequence, length(sequence) + std::ssize(tokens));
  for (std::size_t done = 0; done < tokens.size();) {
    const std::size_t n = std::min(tokens.size() - done, s.chunk.size());
    for (std::size_t i = 0; i < n; ++i) {
      s.chunk[i] = {
          .token = tokens[done + i], .sequence = sequence, .logits = done + i + 1 == tokens.size()};
    }
    s.step({s.chunk.data(), n}, cancel, nullptr);
    done += n;
    if (progress) {
      progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(tokens.size()));
    }
  }
}

std::span<const float> Session::step(std::span<const StepToken> tokens,
                                     const std::atomic<bool>* cancel, NodeObserver* observer) {
  impl_->check_step(tokens);
  return impl_->step(tokens, cancel, observer);
}

std::span<const float> Session::logits() const {
  if (impl_->last.empty())
    fail<ValueError>("there are no logits: no token that wants them was fed");
  return impl_->last;
}

std::int64_t Session::length(std::int32_t sequence) const {
  impl_->check_sequence(sequence);
  return impl_->lengths[static_cast<std::size_t>(sequence)];
}

void Session::truncate(std::int32_t sequence, std::int64_t new_length) {
  if (new_length < 0 || new_length > length(sequence)) {
    fail<ValueError>("sequence {} has {} tokens, cannot be cut to {}", sequence, length(sequence),
                     new_length);
  }
  impl_->lengths[static_cast<std::size_t>(sequence)] = new_length;
}

SequenceCells Session::cells(std::int32_t sequence, std::int64_t length) {
  impl_->check_length(sequence, length);
  impl_->check_on_host();
  const std::int64_t first = sequence * cells_per_sequence(impl_->planned.options);
  SequenceCells cells;
  for (const Impl::Cache& cache : impl_->caches) {
    cells.emplace_back(cache.cells + first * cache.cell_bytes,
                       static_cast<std::size_t>(whole_blocks(length) * cache.cell_bytes));
  }
  return cells;
}

void Session::copy(std::int32_t from, std::int32_t to, std::int64_t new_length, std::int64_t same) {
  impl_->check_sequence(to);
  if (new_length < 0 || new_length > length(from)) {
    fail<ValueError>("sequence {} has {} tokens, {} cannot be copied", from, length(from),
                     new_length);
  }
  if (same < 0 || same > std::min(new_length, length(to))) {
    fail<ValueError>("sequences {} and {} cannot have {} tokens in common: {} are copied, to {}",
                     from, to, same, new_length, length(to));
  }
  impl_->check_on_host();
  if (from != to) {
    const std::int64_t room = cells_per_sequence(impl_->planned.options);
    const std::int64_t begin = same / kCellsPerBlock * kCellsPerBlock;
    const std::int64_t n_cells = whole_blocks(new_length) - begin;
    for (const Impl::Cache& cache : impl_->caches) {
      std::memcpy(cache.cells + (to * room + begin) * cache.cell_bytes,
                  cache.cells + (from * room + begin) * cache.cell_bytes,
                  static_cast<std::size_t>(n_cells * cache.cell_bytes));
    }
  }
  impl_->lengths[static_cast<std::size_t>(to)] = new_length;
}

void Session::adopt(std::int32_t sequence, std::int64_t length) {
  impl_->check_length(sequence, length);
  impl_->lengths[static_cast<std::size_t>(sequence)] = length;
}

void Session::pretend(std::int32_t sequence, std::int64_t length) {
  adopt(sequence, length);
  const std::int64_t first = sequence * cells_per_sequence(impl_->planned.options);
  for (const Node* state : impl_->states_in_order()) {
    const std::int64_t bytes = cell_bytes(state->spec);
    const auto n_bytes = static_cast<std::size_t>(whole_blocks(length) * bytes);
    if (!impl_->is_on_device(*state)) {
      fill_with_noise(state->spec.dtype,
                      {impl_->state_at.at(state->path) + first * bytes, n_bytes});
      continue;
    }
    std::vector<std::byte> cells(n_bytes);
    fill_with_noise(state->spec.dtype, cells);
    for (const auto& device : impl_->devices)
      device->write_state(state->path, first * bytes, cells);
  }
}

const Model& Session::model() const {
  return *impl_->model;
}
const SessionOptions& Session::options() const {
  return impl_->planned.options;
}
const MemoryUse& Session::memory() const {
  return impl_->planned.memory;
}
std::int64_t Session::allocated_bytes() const {
  return (impl_->weights ? impl_->weights->bytes() : 0) + impl_->states.size() +
         impl_->arena.size() + impl_->scratch.size();
}
std::int64_t Session::allocated_on_devices() const {
  std::int64_t sum = 0;
  for (const auto& device : impl_->devices) sum += device->bytes();
  return sum;
}
const std::vector<std::string>& Session::concessions() const {
  return impl_->planned.concessions;
}
std::size_t Session::n_plans() const {
  return impl_->planned.plans.size();
}
const Plan& Session::plan(std::size_t i) const {
  return impl_->planned.plans.at(i);
}
const Graph& Session::graph(std::size_t i) const {
  return impl_->planned.graphs.at(i);
}
std::size_t Session::plan_for(std::int64_t n_tokens) const {
  return impl_->plan_for(static_cast<std::size_t>(n_tokens));
}

}  // namespace weft

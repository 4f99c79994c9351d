#include "weft/run/session.h"

#include <algorithm>
#include <unordered_map>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/run/nan_error.h"
#include "weft/scheduler/workers.h"

#include "device_memory.h"
#include "memory/session_memory.h"
#include "model_impl.h"
#include "session_plan.h"
#include "session_runner.h"

namespace weft {
namespace {

using namespace run;

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
        devices(allocate_on_devices()),
        state_at(place_states()),
        memory({planned.options.sequences, planned.options.context}, planned.options.prefill_width,
               memory_parts()),
        runners(planned.plans.size()),
        chunk(static_cast<std::size_t>(planned.options.prefill_width)),
        ends(static_cast<std::size_t>(planned.options.sequences)) {}

  std::vector<std::unique_ptr<DeviceMemory>> allocate_on_devices() const;
  std::unordered_map<std::string, std::byte*> place_states();
  std::vector<std::unique_ptr<SequenceMemory>> memory_parts();
  bool is_on_device(const Node& state) const;
  std::shared_ptr<const ResidentWeights> load_weights() const;
  const std::byte* weight(const Node& node) const;
  std::size_t plan_for(std::size_t n_tokens) const;
  Runner& runner(std::size_t n_tokens);
  void check_tokens(std::span<const std::int32_t> tokens) const;
  void check_starts(std::int32_t sequence) const;
  void check_step(std::span<const StepToken> tokens) const;
  void write_ends(Runner& r, std::span<const StepToken> tokens);
  std::size_t write_inputs(Runner& r, std::span<const StepToken> tokens);
  void check_logits(std::span<const StepToken> tokens, const View& rows) const;
  std::span<const float> step(std::span<const StepToken> tokens, const std::atomic<bool>* cancel,
                              NodeObserver* observer);
  std::span<const float> compute(std::span<const StepToken> tokens, const std::atomic<bool>* cancel,
                                 NodeObserver* observer);

  std::shared_ptr<const Model> model;
  PlannedModel planned;
  std::shared_ptr<const ResidentWeights> weights;  // null if all stay in the file
  Workers workers;
  Buffer states, arena, scratch;
  std::vector<std::unique_ptr<DeviceMemory>> devices;
  std::unordered_map<std::string, std::byte*> state_at;  // in host memory
  SessionMemory memory;
  std::vector<std::unique_ptr<Runner>> runners;  // by width class; null until first used
  std::vector<StepToken> chunk;                  // of feed(), so that it does not allocate
  std::vector<std::int64_t> ends;                // of write_ends(), likewise
  std::span<const float> last;                   // in the arena
};

std::vector<std::unique_ptr<DeviceMemory>> Session::Impl::allocate_on_devices() const {
  std::vector<std::unique_ptr<DeviceMemory>> all;
  for (const DeviceUse& use : device_use(planned.graphs, planned.plans))
    all.push_back(std::make_unique<DeviceMemory>(*model, use));
  return all;
}

std::unordered_map<std::string, std::byte*> Session::Impl::place_states() {
  std::unordered_map<std::string, std::byte*> places;
  std::byte* at = states.data();
  const Graph& graph = planned.graphs.front();
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::state || is_on_device(graph[id])) continue;
    places.emplace(graph[id].path, at);
    at += align_up(graph[id].spec.bytes());
  }
  return places;
}

std::vector<std::unique_ptr<SequenceMemory>> Session::Impl::memory_parts() {
  const SessionOptions& o = planned.options;
  const Graph& graph = planned.graphs.front();
  std::vector<std::unique_ptr<SequenceMemory>> parts;
  for (const MemoryPart& part : planned.memory_parts) {
    std::vector<StateStore::State> all;
    for (const std::string& path : part.states) {
      const auto on_host = state_at.find(path);
      const auto has = [&](const auto& device) { return device->has_state(path); };
      const auto device = std::ranges::find_if(devices, has);
      all.push_back({.path = path,
                     .spec = graph[graph.find(path)].spec,
                     .host = on_host != state_at.end() ? on_host->second : nullptr,
                     .device = device != devices.end() ? device->get() : nullptr});
    }
    parts.push_back(make_memory(part, {o.sequences, o.context}, StateStore(std::move(all))));
  }
  return parts;
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
  // If not all of it fits, reading the rest would only evict what was read before.
  if (planned.memory.total() - layout.table_bytes <= planned.options.mem_budget)
    prefault_mapped(model->file(), layout, options);
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
    runners[i] =
        std::make_unique<Runner>(planned.graphs[i], planned.plans[i], planned.assignments[i],
                                 bindings, workers, memory.input_names());
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

// Tokens that see what comes after them must come with all of it.
void Session::Impl::check_starts(std::int32_t sequence) const {
  if (sequence < 0 || sequence >= planned.options.sequences) return;  // refused by the memory
  if (memory.length(sequence) == 0) return;
  fail<UnsupportedError>(
      "{}: the model reads a text as a whole, in one step of at most {} tokens; truncate the "
      "sequence to 0 first",
      model->file().path(), planned.options.prefill_width);
}

void Session::Impl::check_step(std::span<const StepToken> tokens) const {
  const SessionOptions& o = planned.options;
  std::int64_t n_rows = 0;
  for (const StepToken& t : tokens) {
    check_tokens({&t.token, 1});
    n_rows += t.logits;
    if (!model->facts().causal) check_starts(t.sequence);
  }
  if (tokens.empty() || std::ssize(tokens) > o.prefill_width) {
    fail<ValueError>("a step has 1..{} tokens, got {}", o.prefill_width, tokens.size());
  }
  if (n_rows > o.logits_rows) {
    fail<ValueError>("a step returns at most {} rows of logits, {} were requested", o.logits_rows,
                     n_rows);
  }
}

// Each token's last position of its sequence, as the sequence is after the step.
void Session::Impl::write_ends(Runner& r, std::span<const StepToken> tokens) {
  const auto end = [&](std::size_t i) -> std::int64_t& {
    return ends[static_cast<std::size_t>(tokens[i].sequence)];
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) end(i) = memory.step()[i].position;
  for (std::size_t i = 0; i < tokens.size(); ++i) Runner::put(r.ends, i, end(i));
}

// Returns the number of rows of logits.
std::size_t Session::Impl::write_inputs(Runner& r, std::span<const StepToken> tokens) {
  std::size_t n_rows = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Runner::put(r.tokens, i, tokens[i].token);
    Runner::put(r.pos, i, memory.step()[i].position);
    if (tokens[i].logits) Runner::put(r.out_rows, n_rows++, static_cast<std::int64_t>(i));
  }
  if (!r.ends.empty()) write_ends(r, tokens);
  memory.write_inputs(r.memory);
  // An extent is at least 1: if no logits are requested, one row is computed and ignored.
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
      fail<NanError>("{}: logits are NaN at position {}: weights or file damaged; run weft verify",
                     model->file().path(), memory.step()[i].position);
    }
  }
}

// REQUIRES: the memory has begun the step.
std::span<const float> Session::Impl::compute(std::span<const StepToken> tokens,
                                              const std::atomic<bool>* cancel,
                                              NodeObserver* observer) {
  Runner& r = runner(tokens.size());
  const std::size_t n_rows = write_inputs(r, tokens);
  r.executor.run(r.extents, cancel, observer);
  const View rows = r.executor.output(planned.options.embeddings ? "embeddings" : "logits");
  check_logits(tokens, rows);
  if (n_rows == 0) return {};
  const auto width = static_cast<std::size_t>(rows.cols());
  last = {rows.row<const float>(static_cast<std::int64_t>(n_rows - 1)), width};
  return {rows.row<const float>(0), n_rows * width};
}

std::span<const float> Session::Impl::step(std::span<const StepToken> tokens,
                                           const std::atomic<bool>* cancel,
                                           NodeObserver* observer) {
  memory.begin(tokens);
  last = {};
  try {
    const std::span<const float> rows = compute(tokens, cancel, observer);
    memory.append();
    return rows;
  } catch (...) {
    memory.rollback();
    throw;
  }
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(std::move(model), options)) {}
Session::~Session() = default;

void Session::feed(std::int32_t sequence, std::span<const std::int32_t> tokens,
                   const std::atomic<bool>* cancel,
                   const std::function<void(std::int64_t, std::int64_t)>& progress) {
  Impl& s = *impl_;
  s.memory.check_sequence(sequence);
  s.check_tokens(tokens);
  s.memory.check_room(sequence, length(sequence) + std::ssize(tokens));
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
  if (impl_->last.empty()) fail<ValueError>("no logits: the last step requested none");
  return impl_->last;
}

std::int64_t Session::length(std::int32_t sequence) const {
  impl_->memory.check_sequence(sequence);
  return impl_->memory.length(sequence);
}

std::int64_t Session::resume_point(std::int32_t sequence, std::int64_t n) const {
  if (n < 0 || n > length(sequence))
    fail<ValueError>("sequence {} has {} tokens, not {}", sequence, length(sequence), n);
  return impl_->memory.resume_point(sequence, n);
}

void Session::truncate(std::int32_t sequence, std::int64_t new_length) {
  if (new_length < 0 || new_length > length(sequence)) {
    fail<ValueError>("sequence {} has {} tokens, cannot truncate to {}", sequence, length(sequence),
                     new_length);
  }
  impl_->memory.truncate(sequence, new_length);
}

void Session::copy(std::int32_t from, std::int32_t to, std::int64_t new_length) {
  impl_->memory.check_sequence(to);
  if (new_length < 0 || new_length > length(from)) {
    fail<ValueError>("sequence {} has {} tokens, cannot copy {}", from, length(from), new_length);
  }
  impl_->memory.copy(from, to, new_length);
}

std::size_t Session::n_states() const {
  return impl_->memory.n_states();
}

std::int64_t Session::saved_bytes(std::int32_t sequence, std::size_t state) const {
  impl_->memory.check_sequence(sequence);
  return impl_->memory.saved_bytes(sequence, state);
}

void Session::save(std::int32_t sequence, std::size_t state,
                   const std::function<void(std::span<const std::byte>)>& write) const {
  impl_->memory.check_sequence(sequence);
  impl_->memory.save(sequence, state, write);
}

std::int64_t Session::resume_point_of_saved(std::int64_t length, std::int64_t saved_length) const {
  return impl_->memory.resume_point_of_saved(length, saved_length);
}

void Session::restore(std::int32_t sequence, std::int64_t length, std::int64_t saved_length,
                      std::span<const std::span<const std::byte>> states) {
  impl_->memory.restore(sequence, length, saved_length, states);
}

void Session::fill_with_noise(std::int32_t sequence, std::int64_t length) {
  impl_->memory.fill_with_noise(sequence, length);
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

#include "session/session_impl.h"

#include <algorithm>

#include "weft/backends/backend.h"
#include "weft/base/error.h"

#include "plan/session_plan.h"
#include "session/sequence_parties.h"

namespace weft {

using namespace run;

namespace {

std::vector<float> scales_of(const Model& model) {
  std::vector<float> scales;
  for (const LoraFile& lora : model.adapters().loras()) scales.push_back(lora.scale);
  return scales;
}

// The party of this class. REQUIRES: the list has it.
template <class T>
T& party(const std::vector<std::unique_ptr<PerSequence>>& parties) {
  for (const auto& party : parties)
    if (auto* const found = dynamic_cast<T*>(party.get())) return *found;
  fail<Error>("the list of parties of sequences lacks one that sessions need");
}

}  // namespace

namespace run {

std::unique_ptr<PerSequence> make_token_memory(const SessionParts& parts) {
  return parts.memory(arch::MemoryOf::sequence);
}

std::unique_ptr<PerSequence> make_token_ids(const SessionParts& parts) {
  const SessionOptions& o = parts.planned.options;
  return std::make_unique<TokenIds>(MemoryLimits{o.sequences, o.context, o.kept}, o.kept_tokens);
}

std::unique_ptr<PerSequence> make_lora_scales(const SessionParts& parts) {
  return std::make_unique<LoraScales>(scales_of(parts.model),
                                      parts.planned.options.sequences + parts.planned.options.kept);
}

std::unique_ptr<PerSequence> make_encoded_text(const SessionParts& parts) {
  return std::make_unique<EncodedText>(parts.memory(arch::MemoryOf::encoded),
                                       encoder_tokens(parts.model, parts.planned.options));
}

std::unique_ptr<PerSequence> make_draft_layer(const SessionParts& parts) {
  return std::make_unique<DraftLayer>(parts.memory(arch::MemoryOf::drafts),
                                      parts.model.facts().draft_width, parts.planned.options,
                                      DraftLayer::Uses{parts.draft_runner, parts.run_draft});
}

std::unique_ptr<PerSequence> make_other_ranks(const SessionParts& parts) {
  const auto& group = impl_of(parts.model).ranks.group;
  return group ? group->open_session(parts.planned) : nullptr;
}

}  // namespace run

Session::Impl::Impl(std::shared_ptr<const Model> m, PlannedModel p)
    : model(std::move(m)),
      planned(std::move(p)),
      sampled(open_samples(*model, planned)),
      weights(sampled ? nullptr : load_weights()),
      stream(sampled ? nullptr : open_stream(*model, planned, weights.get())),
      files(model->weights(), weights.get(), stream.get()),
      workers(planned.options.workers),
      states(planned.memory.state),
      arena(planned.memory.arena),
      scratch(planned.memory.scratch),
      devices(allocate_on_devices()),
      state_at(place_states()),
      parties(make_sequence_parties(
          {.model = *model,
           .planned = planned,
           .memory = [this](arch::MemoryOf of) { return session_memory(of); },
           .draft_runner = [this](std::size_t n) -> Runner& {
             return runner(planned.plan_for(static_cast<std::int64_t>(n), arch::GraphPart::draft));
           },
           .run_draft =
               [this](Runner& r, const auto* cancel) {
                 files.check();
                 run(r, {.cancel = cancel, .observer = draft_observer});
               }})),
      memory(party<SessionMemory>(parties)),
      ids(party<TokenIds>(parties)),
      lora_scales(party<LoraScales>(parties)),
      encoded(party<EncodedText>(parties)),
      drafts(party<DraftLayer>(parties)),
      others(impl_of(*model).ranks.group ? &party<OtherRanks>(parties) : nullptr),
      text(session_memory(arch::MemoryOf::text)),
      rotations(cell_rotations(planned.graphs.front())),
      runners(planned.plans.size()),
      poll(planned.options.poll),
      chunk(static_cast<std::size_t>(planned.options.prefill_width)),
      ends(static_cast<std::size_t>(planned.options.sequences)) {}

std::vector<std::unique_ptr<DeviceMemory>> Session::Impl::allocate_on_devices() const {
  std::vector<std::unique_ptr<DeviceMemory>> all;
  for (const DeviceUse& use : device_use(planned.graphs, planned.plans))
    all.push_back(std::make_unique<DeviceMemory>(*model, use));
  return all;
}

std::unordered_map<std::string, std::byte*> Session::Impl::place_states() {
  std::unordered_map<std::string, std::byte*> places;
  std::byte* at = states.data();
  for (const Node* state : states_on_host(planned.graphs, planned.plans)) {
    places.emplace(state->path, at);
    at += align_up(state->spec.bytes());
  }
  return places;
}

std::unique_ptr<SessionMemory> Session::Impl::session_memory(arch::MemoryOf of) {
  const SessionOptions& o = planned.options;
  const bool of_text = of == arch::MemoryOf::text;
  const MemoryLimits limits{of_text ? 1 : o.sequences, o.context, of_text ? 0 : o.kept};
  std::vector<std::unique_ptr<SequenceMemory>> parts;
  for (const arch::MemoryPart& part : planned.memory_parts) {
    if (part.of != of) continue;
    std::vector<StateStore::State> all;
    for (const std::string& path : part.states) {
      const auto on_host = state_at.find(path);
      const auto has = [&](const auto& device) { return device->has_state(path); };
      const auto device = std::ranges::find_if(devices, has);
      all.push_back({.path = path,
                     .spec = state_spec(planned.graphs, path),
                     .host = on_host != state_at.end() ? on_host->second : nullptr,
                     .device = device != devices.end() ? device->get() : nullptr});
    }
    parts.push_back(make_memory(part, limits, StateStore(std::move(all))));
  }
  return std::make_unique<SessionMemory>(limits, o.prefill_width, std::move(parts));
}

std::shared_ptr<const ResidentWeights> Session::Impl::load_weights() const {
  const WeightLayout layout = layout_weights(*model, planned);
  const LoadOptions options = load_options(*model, planned);
  std::shared_ptr<const ResidentWeights> region;
  if (layout.region_bytes > 0) region = impl_of(*model).resident_weights(layout, options);
  model->weights().check_mapped();
  if (planned.options.weights != WeightMode::mapped) return region;
  // If not all of it fits, reading the rest would only evict pages that were read before.
  if (planned.memory.total() - layout.table_bytes <= planned.options.mem_budget)
    prefault_mapped(model->weights(), layout, options);
  return region;
}

std::int64_t Session::Impl::weight_bytes() const {
  if (sampled) return sampled->bytes();
  const std::int64_t streamed = stream ? stream->bytes() : 0;
  if (!weights) return streamed;
  const WeightLayout layout = layout_weights(*model, planned);
  return streamed + (weights->layout() == layout ? weights->bytes() : layout.region_bytes);
}

const std::byte* Session::Impl::weight(const Node& node) const {
  if (sampled) return sampled->find(node.path);
  const std::byte* data = weights ? weights->find(node.path, node.spec.dtype) : nullptr;
  if (!data && stream) data = stream->data(node.path);
  return data ? data : model->weights().find_tensor(node.path)->data;
}

std::pair<std::size_t, std::size_t> PlannedModel::plans_of(arch::GraphPart part) const {
  if (part == arch::GraphPart::steps) return {0, n_step_plans};
  const bool has = options.draft_layer == (part == arch::GraphPart::draft);
  return {n_step_plans, has ? plans.size() : n_step_plans};
}

std::size_t PlannedModel::plan_for(std::int64_t n_tokens, arch::GraphPart part) const {
  std::size_t i = plans_of(part).first;
  const auto bound = [&](std::size_t plan) {
    const std::vector<Variable>& variables = graphs[plan].variables();
    return variables[Runner::index_of(variables, "T")].bound;
  };
  while (bound(i) < n_tokens) ++i;
  return i;
}

const SessionMemory& Session::Impl::memory_of(std::size_t i) const {
  const auto is_of = [&](arch::GraphPart part) {
    const auto [begin, end] = planned.plans_of(part);
    return begin <= i && i < end;
  };
  if (is_of(arch::GraphPart::draft)) return drafts.memory();
  return is_of(arch::GraphPart::encoder) ? *text : memory;
}

Runner& Session::Impl::runner(std::size_t i) {
  if (!runners[i]) {
    Bindings bindings{.weight = [&](const Node& node) { return weight(node); },
                      .state = [&](const Node& node) { return state_at.at(node.path); },
                      .arena = arena.bytes(),
                      .scratch = scratch.bytes(),
                      .devices = {},
                      .stream = stream.get(),
                      .link = impl_of(*model).ranks.link};
    for (const PlanDevice& used : planned.plans[i].devices) {
      const auto at = std::ranges::find(devices, used.backend, &DeviceMemory::backend);
      bindings.devices.push_back((*at)->bindings());
    }
    runners[i] =
        std::make_unique<Runner>(planned.graphs[i], planned.plans[i], planned.assignments[i],
                                 bindings, workers, memory_of(i).input_names(),
                                 encoded.memory().input_names(), model->adapters().loras().size());
  }
  return *runners[i];
}

}  // namespace weft

#include "session_impl.h"

#include <algorithm>

#include "weft/backends/backend.h"

#include "session_plan.h"

namespace weft {

using namespace run;

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

SessionMemory Session::Impl::session_memory(arch::MemoryOf of) {
  const SessionOptions& o = planned.options;
  const MemoryLimits limits{of == arch::MemoryOf::text ? 1 : o.sequences, o.context};
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
  return {limits, o.prefill_width, std::move(parts)};
}

std::shared_ptr<const ResidentWeights> Session::Impl::load_weights() const {
  const WeightLayout layout = layout_weights(*model, planned);
  const LoadOptions options = load_options(*model, planned);
  std::shared_ptr<const ResidentWeights> region;
  if (layout.region_bytes > 0) region = model->impl().resident_weights(layout, options);
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

std::size_t PlannedModel::plan_for(std::int64_t n_tokens, bool other) const {
  std::size_t i = other ? n_step_plans : 0;
  const auto bound = [&](std::size_t plan) {
    const std::vector<Variable>& variables = graphs[plan].variables();
    return variables[Runner::index_of(variables, "T")].bound;
  };
  while (bound(i) < n_tokens) ++i;
  return i;
}

std::size_t Session::Impl::plan_for(std::size_t n_tokens, bool other) const {
  return planned.plan_for(static_cast<std::int64_t>(n_tokens), other);
}

Runner& Session::Impl::runner(std::size_t i) {
  if (!runners[i]) {
    Bindings bindings{.weight = [&](const Node& node) { return weight(node); },
                      .state = [&](const Node& node) { return state_at.at(node.path); },
                      .arena = arena.bytes(),
                      .scratch = scratch.bytes(),
                      .devices = {},
                      .stream = stream.get(),
                      .link = model->impl().ranks.link};
    for (const PlanDevice& used : planned.plans[i].devices) {
      const auto at = std::ranges::find(devices, used.backend, &DeviceMemory::backend);
      bindings.devices.push_back((*at)->bindings());
    }
    SessionMemory& other = planned.options.draft_layer ? drafted : text;
    const SessionMemory& own = i < planned.n_step_plans ? memory : other;
    runners[i] = std::make_unique<Runner>(
        planned.graphs[i], planned.plans[i], planned.assignments[i], bindings, workers,
        own.input_names(), encoded.input_names(), model->adapters().loras().size());
  }
  return *runners[i];
}

}  // namespace weft

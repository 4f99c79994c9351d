#include "plan/session_plan.h"

#include <algorithm>
#include <set>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/modes.h"
#include "weft/run/session_knobs.h"
#include "weft/scheduler/routing.h"
#include "weft/scheduler/workers.h"

#include "model/model_impl.h"
#include "weights/device_memory.h"

namespace weft {
namespace {

using namespace run;

constexpr auto kMaxCells = static_cast<std::int64_t>(knobs::kMaxCells);
constexpr std::int64_t kDefaultContext = 4096;
constexpr std::int64_t kDefaultLogitsRows = 16;

void check_cache_type(std::string_view which, DType dtype) {
  if (std::ranges::find(cache_types(), dtype) != cache_types().end()) return;
  fail<UnsupportedError>("the cache type of {} must be one of {}, got {}", which,
                         cache_type_names(), dtype.name());
}

std::int64_t rewind_of(const Model& model, const SessionOptions& o) {
  return model.facts().recurrent ? o.rewind : arch::kGuaranteedRewind;
}

WeightMode weights_of(const Model& model, const SessionOptions& o) {
  if (model.quantized_to().empty()) return o.weights;
  if (o.weights == WeightMode::mapped)
    fail<ValueError>("weights that are converted to {} cannot stay mapped", model.quantized_to());
  if (o.weights == WeightMode::streamed)
    fail<ValueError>("weights become {}: {}", model.quantized_to(),
                     why_not(Feature::converted, Mode::streamed));
  return WeightMode::resident;
}

void check_draft_layer(const Model& model, const SessionOptions& o) {
  if (!o.draft_layer) return;
  if (o.embeddings) fail<ValueError>("{}", why_not(Feature::embeddings, Mode::drafting));
  require(model, Feature::draft_layer);
  if (!model.facts().drafts)
    fail<UnsupportedError>("{}: the model has no draft layer", model.file().path());
}

}  // namespace

Routes routes_of(const SessionOptions& options) {
  return options.backend_instance ? Routes(*options.backend_instance)
                                  : Routes(options.backend, options.route);
}

namespace run {

std::int64_t default_context(const Model& model) {
  return std::min(model.facts().context, kDefaultContext);
}

SessionOptions resolve(const Model& model, SessionOptions o) {
  if (!o.embeddings && !model.facts().has_output) {
    fail<UnsupportedError>("{}: the model has no output matrix, so it gives embeddings, not text",
                           model.file().path());
  }
  check_numbers(o);
  if (o.expert_usage == "off") o.expert_usage.clear();
  check_draft_layer(model, o);
  if (o.context == 0) o.context = default_context(model);
  const std::int64_t max_cells = round_up_to_blocks(o.context) * o.sequences;
  o.cells = o.cells > 0 ? std::min(round_up_to_blocks(o.cells), max_cells) : max_cells;
  if (model.facts().encodes || o.kept == 0) o.kept = 0, o.kept_tokens = 0;
  o.kept_tokens = round_up_to_blocks(o.kept_tokens);
  static_assert(arch::kCheckpointEvery == kCellsPerBlock);
  o.checkpoint_every = round_up_to_blocks(o.checkpoint_every);
  if (o.cells + o.kept_tokens > kMaxCells) {
    fail<ValueError>("{} sequences of {} positions{} are more than {} cells", o.sequences,
                     o.context, o.kept > 0 ? fmt::format(" and {} kept tokens", o.kept_tokens) : "",
                     kMaxCells);
  }
  o.prefill_width = std::min(o.prefill_width, o.context * o.sequences);
  if (o.logits_rows == 0) {
    o.logits_rows = std::max<std::int64_t>(o.sequences, kDefaultLogitsRows);
  }
  o.rewind = rewind_of(model, o);
  o.logits_rows = std::min(o.logits_rows, o.prefill_width);
  const int ranks_here = impl_of(model).ranks.ranks_here;
  if (o.workers == 0) o.workers = default_workers();
  o.workers = std::max(1, o.workers / ranks_here);
  if (!o.cache_k.valid()) o.cache_k = f16;
  if (!o.cache_v.valid()) o.cache_v = f16;
  check_cache_type("K", o.cache_k);
  check_cache_type("V", o.cache_v);
  o.weights = weights_of(model, o);
  if (o.mem_budget == 0) o.program = ProgramMemory::none, o.mem_budget = default_budget();
  o.mem_budget /= ranks_here;
  return o;
}

std::vector<const Node*> states_on_host(const std::vector<Graph>& graphs,
                                        const std::vector<Plan>& plans) {
  std::vector<const Node*> states;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (NodeId id = 0; id < graphs[i].size(); ++id) {
      const Node& node = graphs[i][id];
      if (node.kind != NodeKind::state || is_device(plans[i].placements[id].memory)) continue;
      if (seen.insert(node.path).second) states.push_back(&node);
    }
  }
  return states;
}

const TensorSpec& state_spec(const std::vector<Graph>& graphs, const std::string& path) {
  const auto has = [&](const Graph& graph) { return graph.find(path) != kNoNode; };
  const Graph& graph = *std::ranges::find_if(graphs, has);
  return graph[graph.find(path)].spec;
}

MemoryUse memory_use(const std::vector<Graph>& graphs, const std::vector<Plan>& plans,
                     const WeightLayout& weights, const Residency& residency) {
  MemoryUse use{.weights_mapped = weights.mapped_bytes,
                .weights_resident = weights.region_bytes,
                .weights_streamed = residency.bytes()};
  for (const Node* state : states_on_host(graphs, plans))
    use.state += align_up(state->spec.bytes());
  for (const DeviceUse& device : device_use(graphs, plans)) use.device += device.bytes();
  for (const Plan& plan : plans) {  // one step runs at a time: arena and scratch are shared
    use.arena = std::max(use.arena, plan.arena_bytes);
    use.scratch = std::max(use.scratch, plan.scratch_bytes);
  }
  return use;
}

Streamable find_streamable(const Model& model, const PlannedModel& planned) {
  const WeightFiles files = streams_packed(planned.options) ? packed_file(model, planned).files()
                                                            : WeightFiles(model.weights());
  return find_streamable(files, planned.graphs, planned.plans, planned.assignments,
                         planned.n_step_plans);
}

namespace {

// The layout of all weights but these.
WeightLayout layout_except(const Model& model, const PlannedModel& planned,
                           const std::set<std::string_view>& streamed) {
  const bool resident = planned.options.weights != WeightMode::mapped;
  const auto off_host = weights_off_host(planned.graphs, planned.plans);
  const std::size_t n_steps = planned.n_step_plans, n = planned.graphs.size();
  // The layout for one graph of steps, and one of texts if there are any.
  const auto layout_of = [&](std::size_t step, std::size_t text) {
    std::vector<const Graph*> graphs{&planned.graphs[step]};
    if (text < n) graphs.push_back(&planned.graphs[text]);
    return layout_weights(model.weights(), graphs, resident, off_host, streamed);
  };
  WeightLayout layout = layout_of(0, n_steps);
  for (std::size_t i = 1; i < n; ++i) {
    const bool same = (i < n_steps ? layout_of(i, n_steps) : layout_of(0, i)) == layout;
    if (!same) fail<Error>("the plans of the session need weights in different types");
  }
  return layout;
}

}  // namespace

WeightLayout layout_weights(const Model& model, const PlannedModel& planned) {
  return layout_except(model, planned, streamed_paths(planned.residency));
}

PackedFile packed_file(const Model& model, const PlannedModel& planned) {
  return {planned.options.weight_cache, model.weights(), layout_except(model, planned, {})};
}

}  // namespace run

std::vector<PlacedTensor> placed_tensors(const Model& model, const PlannedModel& planned) {
  std::vector<PlacedTensor> placed;
  std::set<std::string_view> in_ring;
  for (const StreamedWeight& w : planned.residency.streamed) in_ring.insert(w.path);
  for (const PlacedWeight& w : layout_weights(model, planned).weights) {
    const std::string_view name = w.tensor->name;
    const WeightPlace place = in_ring.contains(name) ? WeightPlace::streamed
                              : w.streamed           ? WeightPlace::cached
                              : w.offset != kInFile  ? WeightPlace::resident
                              : w.whole              ? WeightPlace::mapped
                                                     : WeightPlace::rows;
    placed.push_back(
        {.name = std::string(name), .dtype = w.dtype, .bytes = w.tensor->n_bytes, .place = place});
  }
  return placed;
}

std::string_view to_string(WeightPlace place) {
  constexpr std::string_view kNames[] = {"resident", "mapped", "rows", "streamed", "cached"};
  return kNames[static_cast<std::size_t>(place)];
}

namespace run {

// The same progress, which is false as soon as loading is to end.
std::function<bool(double)> until_cancelled(const SessionOptions& o) {
  return [cancel = o.cancel, inner = o.progress](double share) {
    return !*cancel && (!inner || inner(share));
  };
}

LoadOptions load_options(const Model& model, const PlannedModel& planned) {
  const SessionOptions& o = planned.options;
  // If the page cache of the file and the copy do not fit together, the system would have to evict
  // a page for every page that is copied.
  const bool tight = o.mem_budget - planned.memory.total() < model.weights().file_bytes();
  return {.threads = o.workers,
          .weight_cache =
              streams_packed(o) ? "" : o.weight_cache,  // those in memory are packed at every start
          .warn = o.warn,
          .drop_cache = tight,
          .progress = o.cancel ? until_cancelled(o) : o.progress};
}

}  // namespace run

namespace {

constexpr WeightMode kModes[] = {WeightMode::automatic, WeightMode::mapped, WeightMode::resident,
                                 WeightMode::streamed};

}  // namespace

std::span<const WeightMode> all_weight_modes() {
  return kModes;
}

std::string_view to_string(WeightMode mode) {
  switch (mode) {
    case WeightMode::automatic:
      return "auto";
    case WeightMode::mapped:
      return "mapped";
    case WeightMode::resident:
      return "resident";
    case WeightMode::streamed:
      return "streamed";
  }
  return "";
}

std::optional<WeightMode> find_weight_mode(std::string_view name) {
  const auto* mode = std::ranges::find(kModes, name, [](WeightMode m) { return to_string(m); });
  return mode == std::end(kModes) ? std::nullopt : std::optional(*mode);
}

}  // namespace weft

#include "session_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/cache_cells.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/scheduler/routing.h"
#include "weft/scheduler/workers.h"

#include "device_memory.h"
#include "model_impl.h"

namespace weft {
namespace {

using namespace run;

constexpr std::int64_t kMinPrefill = 8;  // the budget never reduces prefill_width below this
// Nor below this to keep weights resident: it would cost more than they gain.
constexpr std::int64_t kMinPrefillResident = 128;
// How much of the budget resident weights must leave free unless they were requested: the program
// itself needs memory, and private pages cannot be evicted.
constexpr std::int64_t kSpare = std::int64_t{64} << 20;
constexpr std::int64_t kMaxCells = (std::int64_t{1} << 31) - 1;  // cells are numbered with i32
constexpr std::int64_t kDefaultContext = 4096;
constexpr std::int64_t kDefaultLogitsRows = 16;

void check_range(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    fail<ValueError>("{} must be {}..{}, got {}", name, min, max, value);
  }
}

void check_cache_type(std::string_view which, DType dtype) {
  if (std::ranges::find(cache_types(), dtype) != cache_types().end()) return;
  fail<UnsupportedError>("the cache type of {} must be one of {}, got {}", which,
                         cache_type_names(), dtype.name());
}

// Replaces zeros and checks everything.
SessionOptions resolve(const Model& model, SessionOptions o) {
  if (!o.embeddings && !model.facts().has_output) {
    fail<UnsupportedError>("{}: the model has no output matrix, so it gives embeddings, not text",
                           model.file().path());
  }
  if (o.context == 0) o.context = std::min(model.facts().context, kDefaultContext);
  check_range("context", o.context, 1, kMaxCells);
  check_range("sequences", o.sequences, 1, 1 << 16);
  check_range("cells", o.cells, 0, kMaxCells);
  const std::int64_t max_cells = round_up_to_blocks(o.context) * o.sequences;
  o.cells = o.cells > 0 ? std::min(round_up_to_blocks(o.cells), max_cells) : max_cells;
  if (o.cells > kMaxCells) {
    fail<ValueError>("{} sequences of {} positions are more than {} cells", o.sequences, o.context,
                     kMaxCells);
  }
  check_range("prefill width", o.prefill_width, 1, kMaxPrefillWidth);
  o.prefill_width = std::min(o.prefill_width, o.context * o.sequences);
  if (o.logits_rows == 0) {
    o.logits_rows = std::max<std::int64_t>(o.sequences, kDefaultLogitsRows);
  }
  check_range("rows of logits", o.logits_rows, 1, kMaxCells);
  o.logits_rows = std::min(o.logits_rows, o.prefill_width);
  if (o.workers == 0) o.workers = default_workers();
  check_range("workers", o.workers, 1, kMaxWorkers);
  if (!o.cache_k.valid()) o.cache_k = f16;
  if (!o.cache_v.valid()) o.cache_v = f16;
  check_cache_type("K", o.cache_k);
  check_cache_type("V", o.cache_v);
  if (!model.quantized_to().empty()) {
    if (o.weights == WeightMode::mapped)
      fail<ValueError>("weights that are converted to {} cannot stay mapped", model.quantized_to());
    o.weights = WeightMode::resident;
  }
  check_range("bytes reserved", o.reserved, 0, std::int64_t{1} << 62);
  check_range("memory budget", o.mem_budget, 0, INT64_MAX);
  if (o.mem_budget == 0) o.mem_budget = default_budget();
  return o;
}

// Limits of the concessions below. Each concession gives something up and returns true, or returns
// false if there is nothing left to give up.
struct Limits {
  std::int64_t min_prefill = kMinPrefill;  // lower limit of prefill_width
  bool explicit_budget = true;             // the budget was given, so it must be met
  bool explicit_cache = true;              // the cache types were given, so they must not change
};
using Concession = bool (*)(const Model& model, const Limits& limits, PlannedModel& planned);

// With a default budget, the system can evict rows of tables that are not being read.
bool drop_tables(const Model& model, const Limits& limits, PlannedModel& planned) {
  if (limits.explicit_budget || planned.evicted_bytes > 0) return false;
  planned.evicted_bytes = layout_weights(model, planned).table_bytes;
  if (planned.evicted_bytes == 0) return false;
  planned.concessions.push_back(fmt::format(
      "tables that a step reads only some rows of, {}: the system may evict and reload them",
      human_bytes(planned.evicted_bytes)));
  return true;
}

void remove_plan(PlannedModel& planned, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  planned.graphs.erase(planned.graphs.begin() + at);
  planned.assignments.erase(planned.assignments.begin() + at);
  planned.plans.erase(planned.plans.begin() + at);
}

bool narrow(const Model& model, const Limits& limits, PlannedModel& planned) {
  const std::int64_t before = planned.memory.total();
  const std::int64_t width = planned.options.prefill_width;
  if (planned.n_step_plans == 1) return false;
  const std::vector<Variable>& variables = planned.graphs[planned.n_step_plans - 2].variables();
  const std::int64_t next = std::ranges::find(variables, "T", &Variable::name)->bound;
  if (next < limits.min_prefill) return false;
  if (planned.graphs.size() > planned.n_step_plans) remove_plan(planned, planned.graphs.size() - 1);
  remove_plan(planned, --planned.n_step_plans);
  planned.options.prefill_width = next;
  planned.options.logits_rows = std::min(planned.options.logits_rows, next);
  count_memory(model, planned);
  planned.concessions.push_back(fmt::format("prefill width {} -> {}: saves {}", width, next,
                                            human_bytes(before - planned.memory.total())));
  return true;
}

// Halves the cache, if the model's heads are whole blocks. What was given up before is regained.
// `options` and `bytes` are those before all concessions.
bool shrink_cache(const Model& model, const Limits& limits, const SessionOptions& options,
                  std::int64_t bytes, PlannedModel& planned) {
  if (limits.explicit_cache || options.cache_k == q8_0) return false;
  SessionOptions smaller = options;
  smaller.cache_k = smaller.cache_v = q8_0;
  try {
    PlannedModel with = plan_all(model, smaller, smaller.weights);
    with.concessions.push_back(fmt::format("cache {} -> {}: saves {}", options.cache_k.name(),
                                           q8_0.name(), human_bytes(bytes - with.memory.total())));
    with.weights_reason = planned.weights_reason;
    planned = std::move(with);
  } catch (const Error&) {  // heads of another width
    return false;
  }
  return true;
}

// Makes concessions until `needed` of the plans fits; false if it does not even with all of them.
template <class Needed>
bool fit(const Model& model, const Limits& limits, PlannedModel& planned, Needed needed) {
  const SessionOptions options = planned.options;
  const std::int64_t bytes = planned.memory.total();
  const auto fits = [&] { return needed(planned) <= options.mem_budget; };
  const auto concede = [&] {
    for (const Concession concession : {drop_tables, narrow}) {
      while (!fits() && concession(model, limits, planned)) {
      }
    }
    return fits();
  };
  return concede() || (shrink_cache(model, limits, options, bytes, planned) && concede());
}

std::int64_t needed_bytes(const PlannedModel& planned) {
  return planned.memory.total() - planned.evicted_bytes;
}

// For small models a fraction of their size is enough.
std::int64_t spare(const PlannedModel& planned) {
  return std::min(kSpare, planned.memory.weights_resident / 16);
}
std::int64_t needed_with_spare(const PlannedModel& planned) {
  return needed_bytes(planned) + spare(planned);
}

// The bytes that cannot be evicted.
std::int64_t unevictable_bytes(const PlannedModel& planned) {
  return planned.memory.total() - planned.memory.weights_mapped + kSpare;
}

[[noreturn]] void refuse(const Model& model, const PlannedModel& planned) {
  const SessionOptions& o = planned.options;
  fail<BudgetError>("{}: needs {} with a context of {} x {}, may use {}\n{}", model.file().path(),
                    human_bytes(planned.memory.total()), o.sequences, o.context,
                    human_bytes(o.mem_budget), planned.memory.to_text());
}

// Plans with resident weights if they were requested, or if that is faster and fits. Otherwise
// returns nullopt and sets `reason`.
std::optional<PlannedModel> plan_resident(const Model& model, const SessionOptions& options,
                                          Limits limits, std::string& reason) {
  const bool requested = options.weights == WeightMode::resident;
  if (!requested && routes_of(options).lowering_backend().resident_lowering().empty()) {
    reason = fmt::format("backend {} computes from the file's layout", options.backend);
    return std::nullopt;
  }
  PlannedModel planned = plan_all(model, options, WeightMode::resident);
  if (!limits.explicit_budget) {  // a region shared with another session counts once
    const std::int64_t shared = model.impl().region_bytes(layout_weights(model, planned));
    planned.options.mem_budget = default_budget(shared);
  }
  if (requested) {
    const std::string& mix = model.quantized_to();
    planned.weights_reason =
        mix.empty() ? "requested" : fmt::format("those in F32, F16 and BF16 become {}", mix);
    if (!fit(model, limits, planned, needed_bytes)) refuse(model, planned);
    return planned;
  }
  if (!layout_weights(model, planned).changes_types) {
    reason = fmt::format("backend {} has no other layout for these weights", options.backend);
    return std::nullopt;
  }
  planned.weights_reason = fmt::format("backend {} is faster from another layout", options.backend);
  limits.min_prefill = kMinPrefillResident;
  limits.explicit_cache = true;  // do not change the cache types only for speed
  if (fit(model, limits, planned, needed_with_spare)) return planned;
  reason = fmt::format("resident weights would leave less than {} of the budget free",
                       human_bytes(spare(planned)));
  return std::nullopt;
}

PlannedModel plan_mapped(const Model& model, const SessionOptions& options, const Limits& limits,
                         std::string reason) {
  PlannedModel planned = plan_all(model, options, WeightMode::mapped);
  planned.weights_reason = std::move(reason);
  if (fit(model, limits, planned, needed_bytes)) return planned;
  // A budget that was given must be met. With a default budget the system evicts pages of the file:
  // slow, but it works.
  if (limits.explicit_budget) refuse(model, planned);
  PlannedModel all = plan_all(model, options, WeightMode::mapped);
  all.weights_reason = planned.weights_reason;
  if (!fit(model, limits, all, unevictable_bytes)) refuse(model, planned);
  all.evicted_bytes = all.memory.total() - options.mem_budget;
  all.concessions.push_back(
      fmt::format("weights do not fit: of {}, at least {} is read from disk in every step",
                  human_bytes(all.memory.weights_mapped), human_bytes(all.evicted_bytes)));
  return all;
}

}  // namespace

Routes routes_of(const SessionOptions& options) {
  return options.engine ? Routes(*options.engine) : Routes(options.backend, options.route);
}

namespace run {

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
                     const WeightLayout& weights) {
  MemoryUse use{.weights_mapped = weights.mapped_bytes, .weights_resident = weights.region_bytes};
  for (const Node* state : states_on_host(graphs, plans))
    use.state += align_up(state->spec.bytes());
  for (const DeviceUse& device : device_use(graphs, plans)) use.device += device.bytes();
  for (const Plan& plan : plans) {  // one step runs at a time: arena and scratch are shared
    use.arena = std::max(use.arena, plan.arena_bytes);
    use.scratch = std::max(use.scratch, plan.scratch_bytes);
  }
  return use;
}

WeightLayout layout_weights(const Model& model, const PlannedModel& planned) {
  const bool resident = planned.options.weights == WeightMode::resident;
  const auto off_host = weights_off_host(planned.graphs, planned.plans);
  const std::size_t n_steps = planned.n_step_plans, n = planned.graphs.size();
  // Of one graph of steps, and one of texts if there are any.
  const auto layout_of = [&](std::size_t step, std::size_t text) {
    std::vector<const Graph*> graphs{&planned.graphs[step]};
    if (text < n) graphs.push_back(&planned.graphs[text]);
    return layout_weights(model.weights(), graphs, resident, off_host);
  };
  WeightLayout layout = layout_of(0, n_steps);
  for (std::size_t i = 1; i < n; ++i) {
    const bool same = (i < n_steps ? layout_of(i, n_steps) : layout_of(0, i)) == layout;
    if (!same) fail<Error>("the plans of the session need weights in different types");
  }
  return layout;
}

LoadOptions load_options(const Model& model, const PlannedModel& planned) {
  const SessionOptions& o = planned.options;
  // If the page cache of the file and the copy do not fit together, the system would have to evict
  // a page for every page that is copied.
  const bool tight = o.mem_budget - planned.memory.total() < model.weights().file_bytes();
  return {.threads = o.workers,
          .weight_cache = o.weight_cache,
          .warn = o.warn,
          .drop_cache = tight,
          .progress = o.progress};
}

}  // namespace run

std::string_view to_string(WeightMode mode) {
  constexpr std::string_view kNames[] = {"auto", "mapped", "resident"};
  return kNames[static_cast<std::size_t>(mode)];
}

PlannedModel plan_model(const Model& model, const SessionOptions& options) {
  const SessionOptions resolved = resolve(model, options);
  const Limits limits{.explicit_budget = options.mem_budget != 0,
                      .explicit_cache = options.cache_k.valid() || options.cache_v.valid()};
  std::string reason = "requested";
  if (resolved.weights == WeightMode::mapped)
    return plan_mapped(model, resolved, limits, std::move(reason));
  if (auto planned = plan_resident(model, resolved, limits, reason)) return std::move(*planned);
  PlannedModel mapped = plan_mapped(model, resolved, limits, std::move(reason));
  if (mapped.options.cache_k == resolved.cache_k) return mapped;
  // The cache had to shrink anyway, which may leave room for resident weights.
  SessionOptions smaller = resolved;
  smaller.cache_k = mapped.options.cache_k;
  smaller.cache_v = mapped.options.cache_v;
  std::string why_not;
  auto resident = plan_resident(model, smaller, limits, why_not);
  if (!resident) return mapped;
  resident->concessions.insert(resident->concessions.begin(), mapped.concessions.front());
  return std::move(*resident);
}

}  // namespace weft

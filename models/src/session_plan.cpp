#include "session_plan.h"

#include <algorithm>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/graph/error.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"
#include "weft/scheduler/workers.h"

#include "model_impl.h"

namespace weft {
namespace {

// Width classes: a step runs in the narrowest plan that holds it. Narrow ones serve decoding of one
// and of several sequences and the tail of a prompt, wide ones prefill.
constexpr std::int64_t kWidths[] = {1, 8, 32, 128, 512, 2048};
constexpr std::int64_t kNarrowest = 8;  // the budget never takes prefill below this
constexpr std::int64_t kMaxCells = (std::int64_t{1} << 31) - 1;  // cells are numbered with i32
constexpr std::int64_t kDefaultContext = 4096;
constexpr std::int64_t kDefaultLogitsRows = 16;

void check_range(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    fail<ValueError>("{} must be {}..{}, got {}", name, min, max, value);
  }
}

// Zeros replaced, everything checked.
SessionOptions resolve(const Model& model, SessionOptions o) {
  if (o.context == 0) o.context = std::min(model.facts().context, kDefaultContext);
  check_range("context", o.context, 1, kMaxCells);
  check_range("sequences", o.sequences, 1, 1 << 16);
  const std::int64_t n_cells = o.context * o.sequences;
  if (n_cells > kMaxCells) {
    fail<ValueError>("{} sequences of {} positions are more than {} cells", o.sequences, o.context,
                     kMaxCells);
  }
  check_range("prefill width", o.prefill_width, 1, kMaxPrefillWidth);
  o.prefill_width = std::min(o.prefill_width, n_cells);
  if (o.logits_rows == 0) {
    o.logits_rows = std::max<std::int64_t>(o.sequences, kDefaultLogitsRows);
  }
  check_range("rows of logits", o.logits_rows, 1, kMaxCells);
  o.logits_rows = std::min(o.logits_rows, o.prefill_width);
  if (o.workers == 0) o.workers = default_workers();
  check_range("workers", o.workers, 1, 256);
  if (o.cache_k != o.cache_v || (o.cache_k != f16 && o.cache_k != f32)) {
    fail<UnsupportedError>("the cache must be F16 or F32, the same for K and V, got {} and {}",
                           o.cache_k.name(), o.cache_v.name());
  }
  check_range("memory budget", o.mem_budget, 0, INT64_MAX);
  if (o.mem_budget == 0) o.mem_budget = default_budget();
  return o;
}

void add_class(const Model& model, const Backend& backend, std::int64_t width,
               PlannedModel& planned) {
  const SessionOptions& o = planned.options;
  const Model::Impl& impl = model.impl();
  const Graph plain = build_graph(impl.source, *impl.architecture, impl.hparams,
                                  {.tokens = width,
                                   .logits_rows = std::min(width, o.logits_rows),
                                   .cells = o.context * o.sequences,
                                   .context = o.context,
                                   .cache_k = o.cache_k,
                                   .cache_v = o.cache_v,
                                   .embeddings = o.embeddings});
  planned.graphs.push_back(optimize(plain, backend, {.off = o.passes_off}));
  planned.plans.push_back(
      make_plan(planned.graphs.back(), backend,
                {.name = width == 1 ? "decode" : fmt::format("prefill {}", width),
                 .lanes = o.workers,
                 .reuse_arena = o.reuse_arena}));
}

// Gives up the widest plan.
void narrow(const Model& model, PlannedModel& planned) {
  const std::int64_t before = planned.memory.total();
  const std::int64_t width = planned.options.prefill_width;
  planned.graphs.pop_back();
  planned.plans.pop_back();
  const std::vector<Variable>& variables = planned.graphs.back().variables();
  planned.options.prefill_width = std::ranges::find(variables, "T", &Variable::name)->bound;
  planned.options.logits_rows =
      std::min(planned.options.logits_rows, planned.options.prefill_width);
  planned.memory = memory_use(model, planned.graphs, planned.plans);
  planned.concessions.push_back(fmt::format("prefill width {} -> {}: saves {}", width,
                                            planned.options.prefill_width,
                                            human_bytes(before - planned.memory.total())));
}

}  // namespace

std::int64_t state_bytes(const Graph& graph) {
  std::int64_t sum = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == NodeKind::state) sum += align_up(graph[id].spec.bytes());
  }
  return sum;
}

MemoryUse memory_use(const Model& model, const std::vector<Graph>& graphs,
                     const std::vector<Plan>& plans) {
  MemoryUse use{.weights_mapped = model.facts().weight_bytes, .state = state_bytes(graphs.front())};
  for (const Plan& plan : plans) {  // one step runs at a time: arena and scratch are shared
    use.arena = std::max(use.arena, plan.arena_bytes);
    use.scratch = std::max(use.scratch, plan.scratch_bytes);
  }
  return use;
}

PlannedModel plan_model(const Model& model, const SessionOptions& options) {
  PlannedModel planned{.options = resolve(model, options)};
  const Backend& backend = find_backend(planned.options.backend);
  const std::int64_t widest = planned.options.prefill_width;
  for (const std::int64_t width : kWidths) {
    if (width < widest) add_class(model, backend, width, planned);
  }
  add_class(model, backend, widest, planned);
  planned.memory = memory_use(model, planned.graphs, planned.plans);

  const std::int64_t budget = planned.options.mem_budget;
  while (planned.memory.total() > budget && planned.options.prefill_width > kNarrowest) {
    narrow(model, planned);
  }
  if (planned.memory.total() > budget) {
    fail<BudgetError>("{}: needs {} with a context of {} x {}, may use {}\n{}", model.file().path(),
                      human_bytes(planned.memory.total()), planned.options.sequences,
                      planned.options.context, human_bytes(budget), planned.memory.to_text());
  }
  return planned;
}

}  // namespace weft

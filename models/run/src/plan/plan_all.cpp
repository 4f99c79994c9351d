// The graphs and plans of a session, without regard to the budget.
#include <algorithm>
#include <atomic>
#include <utility>

#include "weft/graph/pass.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "memory/token_ids.h"
#include "model/model_impl.h"
#include "plan/program_bytes.h"
#include "plan/session_plan.h"
#include "plan/state_bytes.h"

namespace weft {
namespace {

using namespace run;

// Width classes: a step uses the narrowest plan that it fits into. Narrow ones are for decoding one
// or several sequences and for the end of a prompt, wide ones for prefill.
constexpr std::int64_t kWidths[] = {1, 8, 32, 128, 512, 2048};

// A width class of steps, of texts for the encoder, or of the draft layer.
struct WidthClass {
  std::int64_t width = 1;
  arch::GraphPart part = arch::GraphPart::steps;

  std::string name() const {
    if (part == arch::GraphPart::encoder) return fmt::format("encode {}", width);
    if (part == arch::GraphPart::draft) return fmt::format("draft {}", width);
    return width == 1 ? "decode" : fmt::format("prefill {}", width);
  }
};

// The fused graph of a width class, and its memory parts.
arch::ModelGraph fused_class(const Model& model, const SessionOptions& o, const PassOptions& passes,
                             const WidthClass& c) {
  const Model::Impl& impl = impl_of(model);
  arch::ModelGraph built = impl.rank_graph(
      {.tokens = c.width,
       .logits_rows = c.part == arch::GraphPart::draft ? 1 : std::min(c.width, o.logits_rows),
       .sequences = o.sequences,
       .context = o.context,
       .cells = o.cells,
       .step_tokens = o.prefill_width,
       .rewind = o.rewind,
       .kept = o.kept,
       .kept_tokens = o.kept_tokens,
       .lasting_every = o.checkpoint_every,
       .cache_k = o.cache_k,
       .cache_v = o.cache_v,
       .embeddings = o.embeddings,
       .part = c.part,
       .features = o.draft_layer && c.part == arch::GraphPart::steps});
  built.graph = fuse(built.graph, passes);
  return built;
}

// Those of steps, then those of texts or of the draft layer, each narrowest first.
std::vector<WidthClass> width_classes(const Model& model, const SessionOptions& o) {
  std::vector<WidthClass> classes;
  const auto add = [&](arch::GraphPart part, std::int64_t narrowest, std::int64_t widest) {
    for (const std::int64_t width : kWidths)
      if (width >= narrowest && width < widest) classes.push_back({width, part});
    classes.push_back({widest, part});
  };
  add(arch::GraphPart::steps, 1, o.prefill_width);
  if (model.facts().encodes) add(arch::GraphPart::encoder, 2, o.prefill_width);
  if (o.draft_layer) add(arch::GraphPart::draft, 1, kDraftWidth);
  return classes;
}

// Adds those that are not there yet: the graphs of steps and of texts share some.
void add_parts(const std::vector<arch::MemoryPart>& more, std::vector<arch::MemoryPart>& parts) {
  for (const arch::MemoryPart& part : more) {
    const auto same = [&](const arch::MemoryPart& p) {
      return p.of == part.of && p.kind == part.kind && p.suffix == part.suffix;
    };
    if (std::ranges::none_of(parts, same)) parts.push_back(part);
  }
}

// Weights that `other` also has get the types that they have there, so that both can share them.
Graph with_types_of(const Graph& other, const Graph& graph) {
  const auto type_there = [&](const Node& node) {
    const NodeId id = node.kind == NodeKind::weight ? other.find(node.path) : kNoNode;
    return id == kNoNode ? node.spec.dtype : other[id].spec.dtype;
  };
  Rewriter rewriter(graph, "share_weights");
  for (NodeId id = 0; id < graph.size(); ++id) {
    const DType dtype = type_there(graph[id]);
    dtype == graph[id].spec.dtype ? rewriter.copy(id) : rewriter.copy_as(id, dtype);
  }
  return rewriter.finish();
}

}  // namespace

namespace run {

std::int64_t encoder_tokens(const Model& model, const SessionOptions& o) {
  return model.facts().encodes ? std::min(o.prefill_width, o.context) : 0;
}

std::int64_t sequence_bytes(const Model& model, const SessionOptions& o) {
  const std::int64_t n_rows = o.sequences * (kDraftWidth + 1) + o.prefill_width + 1;
  const std::int64_t features = o.draft_layer ? n_rows * model.facts().draft_width : 0;
  return TokenIds::bytes_for({o.sequences, o.context, o.kept}, o.kept_tokens) +
         TokenIds::bytes_for({o.sequences + o.kept, encoder_tokens(model, o)}) +
         features * static_cast<std::int64_t>(sizeof(float));
}

void count_memory(const Model& model, PlannedModel& planned) {
  const WeightLayout layout = layout_weights(model, planned);
  planned.memory = memory_use(planned.graphs, planned.plans, layout, planned.residency);
  if (!planned.residency.empty()) {
    const auto is_table = [](const PlacedWeight& w) { return w.offset == kInFile && !w.streamed; };
    const std::int64_t rows =
        2 * planned.options.prefill_width * std::ranges::count_if(layout.weights, is_table);
    planned.memory.weights_mapped = std::min(planned.memory.weights_mapped, kRowBytes * rows);
  }
  planned.memory.states = states_by_kind(planned);
  planned.memory.program = program_bytes(model, planned);
  planned.memory.other += planned.options.reserved;
  planned.memory.other += sequence_bytes(model, planned.options);
}

namespace {
std::atomic<std::int64_t> plannings = 0;
}

PlannedModel plan_all(const Model& model, const SessionOptions& options, WeightMode weights) {
  ++plannings;
  PlannedModel planned{.options = options};
  planned.options.weights = weights;
  const SessionOptions& o = planned.options;
  const bool packs = weights == WeightMode::resident || streams_packed(o);
  const PassOptions passes{.off = o.passes_off, .resident = packs};
  const Routes routes = routes_of(o);
  const std::vector<WidthClass> classes = width_classes(model, o);
  std::vector<Graph> fused;
  for (const WidthClass& c : classes) {
    arch::ModelGraph built = fused_class(model, o, passes, c);
    fused.push_back(std::move(built.graph));
    add_parts(built.memory, planned.memory_parts);
    planned.n_step_plans += c.part == arch::GraphPart::steps;
  }
  routes.check_patterns(fused.front());
  planned.assignments = assign(fused, routes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const Assignment& assignment = planned.assignments[i];
    Graph lowered = lower(std::move(fused[i]), assignment, passes);
    if (classes[i].part != arch::GraphPart::steps)
      lowered = with_types_of(planned.graphs.front(), lowered);
    planned.graphs.push_back(std::move(lowered));
    planned.plans.push_back(make_plan(planned.graphs.back(), assignment,
                                      {.name = classes[i].name(),
                                       .lanes = o.workers,
                                       .allow_one_lane = true,
                                       .replay = o.executor,
                                       .separate_tensors = o.separate_tensors}));
  }
  if (weights == WeightMode::streamed)
    planned.residency = smallest_residency(find_streamable(model, planned));
  count_memory(model, planned);
  return planned;
}

}  // namespace run

std::int64_t model_plannings() {
  return run::plannings;
}
}  // namespace weft

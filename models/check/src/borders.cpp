#include "borders.h"

#include <algorithm>
#include <random>

#include "weft/ops/cache_cells.h"

namespace weft::checks {
namespace {

// The number of multiplications with weights in one pass over the tokens that takes a few seconds.
constexpr std::int64_t kMaxMultiplications = 100'000'000'000;

// The time of a projection's scalar definition, relative to its kernel.
constexpr std::int64_t kDefinitionCost = 10;

constexpr std::int64_t kFirstBlock = kCellsPerBlock + kMargin;

}  // namespace

Borders borders_of(const Session& session, std::int64_t n_tokens) {
  Borders borders;
  for (std::int64_t n = kCellsPerBlock; n + kMargin <= n_tokens; n += kCellsPerBlock)
    borders.cells.push_back(n);
  for (std::size_t i = 0; i < session.n_step_plans(); ++i) {
    const std::int64_t width = session.plan(i).variables.front().bound;
    if (width > 1 && width + 1 <= std::min(n_tokens, session.options().prefill_width))
      borders.widths.push_back(width);
  }
  return borders;
}

std::int64_t tokens_across_borders(const Model& model, const SessionOptions& options) {
  const std::int64_t widest = std::max(options.prefill_width + kMargin, kFirstBlock);
  const std::int64_t affordable =
      kMaxMultiplications / std::max<std::int64_t>(model.facts().n_params, 1);
  std::int64_t n = std::clamp(affordable, kFirstBlock, widest);
  // Just past a block: tokens between two boundaries cost time and test nothing.
  n = (n - kMargin) / kCellsPerBlock * kCellsPerBlock + kMargin;
  const std::int64_t context = options.context > 0 ? options.context : model.facts().context;
  return std::min({n, context, model.facts().context});
}

std::vector<std::int32_t> random_ids(const Model& model, std::int64_t n) {
  std::mt19937 random(1);
  std::vector<std::int32_t> ids;
  const auto n_vocab = static_cast<std::uint64_t>(model.facts().n_vocab);
  while (std::ssize(ids) < n) ids.push_back(static_cast<std::int32_t>(random() % n_vocab));
  return ids;
}

std::vector<std::int32_t> text_for(const Session& session) {
  const SessionOptions& o = session.options();
  return random_ids(session.model(), std::min({kFirstBlock, o.prefill_width, o.context}));
}

void give_texts(Session& session) {
  if (!session.model().facts().encodes) return;
  const std::vector<std::int32_t> text = text_for(session);
  for (std::int32_t i = 0; i < session.options().sequences; ++i) session.encode(i, text);
}

std::int64_t affordable_definitions(const Model& model) {
  return kMaxMultiplications / kDefinitionCost / std::max<std::int64_t>(model.facts().n_params, 1);
}

std::vector<BorderStep> border_steps(const Borders& borders, std::int64_t n_tokens,
                                     std::int64_t max_width) {
  std::vector<BorderStep> steps;
  if (borders.cells.empty()) return steps;
  const std::int64_t border = borders.cells.front();
  const std::int64_t wide = std::min(border + kMargin, max_width);
  steps = {{border + kMargin - wide, wide}, {border - 1, 1}, {border, 1}};
  for (const std::int64_t width : borders.widths) {
    for (const std::int64_t n : {width, width + 1}) {
      const std::int64_t at = std::max<std::int64_t>(border - n / 2, 0);
      if (n <= max_width && at + n <= n_tokens) steps.push_back({at, n});
    }
  }
  return steps;
}

LastRows::LastRows(const Graph& graph, NodeObserver& next, std::int64_t max_rows)
    : graph_(graph), next_(next), max_rows_(max_rows) {
  std::size_t max_inputs = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    max_inputs = std::max(max_inputs, graph[id].inputs.size());
  in_.reserve(max_inputs);
}

bool LastRows::narrows(const PlanStep& step, const KernelArgs& args) const {
  const Node& node = graph_[step.node];
  if (args.out.rank < 2 || args.out.rows() <= max_rows_) return false;
  if (args.op->storage != Storage::fresh || !args.op->splits_rows) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const Shape& shape = graph_[node.inputs[i]].spec.shape;
    if (shape.rank() == 0 || !shape[0].varies()) continue;
    // Inputs of rank 0 or 1 hold a number per token, all in one row.
    const Reach reach = args.op->input(i).reach;
    if (shape.rank() < 2 || (reach != Reach::same && reach != Reach::row)) return false;
  }
  return true;
}

const KernelArgs& LastRows::narrowed(const PlanStep& step, const KernelArgs& args) {
  const std::int64_t first = args.out.rows() - max_rows_;
  const auto last_rows = [&](View view) {
    view.data += first * view.row_stride;
    view.dims[0] = max_rows_;
    return view;
  };
  const Node& node = graph_[step.node];
  in_.assign(args.in.begin(), args.in.end());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const Shape& shape = graph_[node.inputs[i]].spec.shape;
    if (shape.rank() > 0 && shape[0].varies()) in_[i] = last_rows(in_[i]);
  }
  args_ = args;
  args_.in = in_;
  args_.out = last_rows(args.out);
  return args_;
}

void LastRows::before(const PlanStep& step, int worker, const KernelArgs& args,
                      const Region& region) noexcept {
  next_.before(step, worker, narrows(step, args) ? narrowed(step, args) : args, region);
}

void LastRows::after(const PlanStep& step, int worker, const KernelArgs& args,
                     const Region& region) noexcept {
  next_.after(step, worker, narrows(step, args) ? narrowed(step, args) : args, region);
}

}  // namespace weft::checks

#include "border_nodes.h"

#include <algorithm>

#include "matrix_sample.h"

namespace weft::checks {

BorderNodes::BorderNodes(const Graph& graph, NodeObserver& next, std::int64_t n_tokens,
                         std::int64_t max_rows, std::int64_t max_multiplications)
    : graph_(graph),
      next_(next),
      max_rows_(max_rows),
      every_(sample_every(graph, n_tokens, max_multiplications,
                          [&](const Node& node) { return !by_row(node); })) {
  std::size_t max_inputs = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    max_inputs = std::max(max_inputs, graph[id].inputs.size());
  in_.reserve(max_inputs);
}

// Whether a row of the output depends only on the same row of the inputs.
bool BorderNodes::by_row(const Node& node) const {
  if (node.spec.shape.n_dims() < 2) return false;
  if (node.op->storage != Storage::fresh || !node.op->splits_rows) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const Shape& shape = graph_[node.inputs[i]].spec.shape;
    if (shape.n_dims() == 0 || !shape[0].varies()) continue;
    // Inputs of one dimension, or none, hold a number per token, all in one row.
    const Reach reach = node.op->input(i).reach;
    if (shape.n_dims() < 2 || (reach != Reach::same && reach != Reach::row)) return false;
  }
  return true;
}

bool BorderNodes::wanted(const PlanStep& step, const KernelArgs& args) {
  const Node& node = graph_[step.node];
  if (node.op->collective) return true;  // other ranks compare it, too
  const auto n_before = [&] { return seen_[kind_of(graph_, step)]++; };
  const bool wide = args.out.rows() > 1;
  if (!by_row(node)) return !wide || every_ == 1 || n_before() % every_ == 0;
  return !reads_matrix(graph_, node) || (wide && n_before() == 0);
}

const KernelArgs& BorderNodes::narrowed(const PlanStep& step, const KernelArgs& args) {
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
    if (shape.n_dims() > 0 && shape[0].varies()) in_[i] = last_rows(in_[i]);
  }
  args_ = args;
  args_.in = in_;
  args_.out = last_rows(args.out);
  return args_;
}

void BorderNodes::before(const PlanStep& step, int worker, const KernelArgs& args,
                         const Region& region) noexcept {
  passes_ = wanted(step, args);
  if (!passes_) return;
  const bool narrow = by_row(graph_[step.node]) && args.out.rows() > max_rows_;
  next_.before(step, worker, narrow ? narrowed(step, args) : args, region);
}

void BorderNodes::after(const PlanStep& step, int worker, const KernelArgs& args,
                        const Region& region) noexcept {
  if (!passes_) return;
  const bool narrow = by_row(graph_[step.node]) && args.out.rows() > max_rows_;
  next_.after(step, worker, narrow ? narrowed(step, args) : args, region);
}

}  // namespace weft::checks

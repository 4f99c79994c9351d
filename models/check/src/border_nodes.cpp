#include "border_nodes.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::checks {

BorderNodes::BorderNodes(const Graph& graph, NodeObserver& next, std::int64_t max_rows,
                         bool all_layers)
    : graph_(graph), next_(next), max_rows_(max_rows), all_layers_(all_layers) {
  std::size_t max_inputs = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    max_inputs = std::max(max_inputs, graph[id].inputs.size());
  in_.reserve(max_inputs);
}

// Whether a row of the output depends only on the same row of the inputs.
bool BorderNodes::by_row(const PlanStep& step, const KernelArgs& args) const {
  const Node& node = graph_[step.node];
  if (args.out.rank < 2) return false;
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

bool BorderNodes::reads_matrix(const Node& node) const {
  return std::ranges::any_of(node.inputs, [&](NodeId in) {
    return in != kNoNode && graph_[in].kind == NodeKind::weight && graph_[in].spec.shape.rank() > 1;
  });
}

// Nodes of one kind are computed by the same code.
std::string BorderNodes::kind_of(const PlanStep& step) const {
  const Node& node = graph_[step.node];
  std::string kind = fmt::format("{} {} {}", step.op, step.kernel, node.attrs.to_json());
  for (const TensorSpec& spec : graph_.input_specs(node))
    kind += spec.present() ? ' ' + to_string(spec) : " -";
  // A number per token, such as "first.w512": attention with another window or chunk.
  for (const NodeId in : node.inputs) {
    if (in != kNoNode && graph_[in].kind != NodeKind::weight && graph_[in].spec.shape.rank() < 2)
      kind += ' ' + graph_[in].path;
  }
  return kind;
}

bool BorderNodes::wanted(const PlanStep& step, const KernelArgs& args) {
  const auto is_new_kind = [&] { return seen_.insert(kind_of(step)).second; };
  const bool wide = args.out.rows() > 1;
  if (!by_row(step, args)) return all_layers_ || !wide || is_new_kind();
  return !reads_matrix(graph_[step.node]) || (wide && is_new_kind());
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
    if (shape.rank() > 0 && shape[0].varies()) in_[i] = last_rows(in_[i]);
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
  const bool narrow = by_row(step, args) && args.out.rows() > max_rows_;
  next_.before(step, worker, narrow ? narrowed(step, args) : args, region);
}

void BorderNodes::after(const PlanStep& step, int worker, const KernelArgs& args,
                        const Region& region) noexcept {
  if (!passes_) return;
  const bool narrow = by_row(step, args) && args.out.rows() > max_rows_;
  next_.after(step, worker, narrow ? narrowed(step, args) : args, region);
}

}  // namespace weft::checks

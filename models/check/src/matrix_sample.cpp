#include "matrix_sample.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::checks {
namespace {

std::int64_t multiplications(const Graph& graph, const Node& node, const Extents& extents) {
  if (!node.op->cost) return 0;
  return node.op->cost(node.attrs, graph.input_specs(node), node.spec, extents).multiply_adds;
}

}  // namespace

bool reads_matrix(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](NodeId in) {
    return in != kNoNode && graph[in].kind == NodeKind::weight && graph[in].spec.shape.n_dims() > 1;
  });
}

std::string kind_of(const Graph& graph, const PlanStep& step) {
  const Node& node = graph[step.node];
  std::string kind = fmt::format("{} {} {}", step.op, step.kernel, node.attrs.to_json());
  for (const TensorSpec& spec : graph.input_specs(node))
    kind += spec.present() ? ' ' + to_string(spec) : " -";
  // A number per token, such as "first.w512": attention with another window or chunk.
  for (const NodeId in : node.inputs) {
    if (in != kNoNode && graph[in].kind != NodeKind::weight && graph[in].spec.shape.n_dims() < 2)
      kind += ' ' + graph[in].path;
  }
  return kind;
}

std::int64_t sample_every(const Graph& graph, std::int64_t n_tokens,
                          std::int64_t max_multiplications,
                          const std::function<bool(const Node&)>& wanted) {
  if (max_multiplications == 0) return std::numeric_limits<std::int64_t>::max();
  Extents extents = graph.bounds();
  for (std::int64_t& extent : extents) extent = std::min(extent, n_tokens);
  std::int64_t total = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == NodeKind::op && wanted(graph[id]))
      total += multiplications(graph, graph[id], extents);
  }
  return total > max_multiplications ? (total - 1) / max_multiplications + 1 : 1;
}

MatrixSample::MatrixSample(const Graph& graph, NodeObserver& next, std::int64_t n_tokens,
                           std::int64_t max_multiplications)
    : graph_(graph),
      next_(next),
      every_(sample_every(graph, n_tokens, max_multiplications,
                          [&](const Node& node) { return reads_matrix(graph, node); })) {}

void MatrixSample::before(const PlanStep& step, int worker, const KernelArgs& args,
                          const Region& region) noexcept {
  passes_ = every_ == 1 || !reads_matrix(graph_, graph_[step.node]) ||
            seen_[kind_of(graph_, step)]++ % every_ == 0;
  if (passes_) next_.before(step, worker, args, region);
}

void MatrixSample::after(const PlanStep& step, int worker, const KernelArgs& args,
                         const Region& region) noexcept {
  if (passes_) next_.after(step, worker, args, region);
}

}  // namespace weft::checks

#include "weft/measure/work.h"

#include <algorithm>

#include "weft/ops/attention/cache_cells.h"

namespace weft::bench {
namespace {

Extents extents_of(const Graph& graph, std::int64_t n_tokens) {
  Extents extents{};
  for (std::size_t i = 0; i < graph.variables().size(); ++i)
    extents[i] = graph.variables()[i].name == "T" ? n_tokens : 1;
  return extents;
}

// The state that holds a node's value; kNoNode if none does.
NodeId state_under(const Graph& graph, NodeId id) {
  while (id != kNoNode && graph[id].kind == NodeKind::op && graph[id].op->storage != Storage::fresh)
    id = graph[id].inputs.front();
  return id != kNoNode && graph[id].kind == NodeKind::state ? id : kNoNode;
}

// The part of the cells of a cache that a token attends to, on average. A window has fewer of them
// than the sequence has tokens.
double share_attended(std::int64_t depth, std::int64_t n_tokens, double cells) {
  const double attended = static_cast<double>(depth) + static_cast<double>(n_tokens + 1) / 2;
  return std::min(1.0, attended / cells);
}

// Adds the work of one node in a step of `n_tokens` after `depth` others. `extents` are the step's.
void add_node(const Graph& graph, const Node& node, const Extents& extents, std::int64_t depth,
              std::int64_t n_tokens, Work& work) {
  double weight_bytes = 0, cache_bytes = 0;
  bool quantized = false, matrix = false, recurrent = node.op->updates >= 0;
  double cells = 0, others = 0;
  for (const NodeId id : node.inputs) {
    if (id == kNoNode) continue;
    const TensorSpec& spec = graph[id].spec;
    if (graph[id].kind == NodeKind::weight) {
      weight_bytes += static_cast<double>(spec.bytes());
      quantized = quantized || spec.dtype.is_quantized();
      matrix = matrix || spec.shape.n_dims() > 1;
      continue;
    }
    if (recurrent && graph[id].kind == NodeKind::state) {
      // A row is read, and another one written, however many tokens the sequence has.
      cache_bytes += 2 * static_cast<double>(spec.row_bytes());
      continue;
    }
    others += static_cast<double>(spec.shape.rows().extent(extents) * spec.row_bytes());
    if (node.op->storage == Storage::fresh && state_under(graph, id) != kNoNode) {
      const TensorSpec& state = graph[state_under(graph, id)].spec;
      cells = static_cast<double>(cells_of(state.shape));
      cache_bytes += static_cast<double>(cell_bytes(state) * (depth + n_tokens));
    }
  }
  if (node.op->cost) {
    const Cost cost = node.op->cost(node.attrs, graph.input_specs(node), node.spec, extents);
    weight_bytes = std::clamp(static_cast<double>(cost.bytes_read) - others, 0.0, weight_bytes);
    auto multiply_adds = static_cast<double>(cost.multiply_adds);
    if (cells > 0) {
      // The op counts every cell of the cache; token i attends to only depth + i + 1 of them.
      multiply_adds *= share_attended(depth, n_tokens, cells);
    }
    if (matrix || recurrent || cells > 0) work.multiply_adds += multiply_adds;  // not of norms
    if (matrix) (quantized ? work.of_quantized : work.of_float) += multiply_adds;
  }
  work.weight_bytes += weight_bytes;
  work.cache_bytes += cache_bytes;
}

Work work_of_step(const Session& session, std::int64_t depth, std::int64_t n_tokens) {
  const std::size_t i = session.plan_for(n_tokens);
  const Graph& graph = session.graph(i);
  const Extents extents = extents_of(graph, n_tokens);
  Work work{.joins = static_cast<double>(session.plan(i).joins()),
            .nodes = static_cast<double>(session.plan(i).steps.size())};
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == NodeKind::op) add_node(graph, graph[id], extents, depth, n_tokens, work);
  }
  return work;
}

}  // namespace

Work work_of_node(const Graph& graph, NodeId id, std::int64_t depth, std::int64_t n_tokens) {
  Work work{.nodes = 1};
  add_node(graph, graph[id], extents_of(graph, n_tokens), depth, n_tokens, work);
  return work;
}

Work& Work::operator+=(const Work& other) {
  weight_bytes += other.weight_bytes;
  cache_bytes += other.cache_bytes;
  multiply_adds += other.multiply_adds;
  of_quantized += other.of_quantized;
  of_float += other.of_float;
  joins += other.joins;
  nodes += other.nodes;
  return *this;
}

Work work_of(const Session& session, std::int64_t depth, std::int64_t n_tokens,
             std::int64_t width) {
  Work all;
  for (std::int64_t done = 0; done < n_tokens; done += width)
    all += work_of_step(session, depth + done, std::min(width, n_tokens - done));
  return all;
}

}  // namespace weft::bench

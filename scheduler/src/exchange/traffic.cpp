#include "exchange/traffic.h"

#include "exchange/collectives.h"

namespace weft {
namespace {

Traffic& operator+=(Traffic& sum, const Traffic& more) {
  sum.exchanges += more.exchanges;
  sum.messages_out += more.messages_out;
  sum.bytes_out += more.bytes_out;
  sum.seconds += more.seconds;
  return sum;
}

}  // namespace

double scheduler::multiply_adds(const Graph& graph, const Node& node, const Extents& extents) {
  if (!node.op || !node.op->cost) return 0;
  return static_cast<double>(
      node.op->cost(node.attrs, graph.input_specs(node), node.spec, extents).multiply_adds);
}

double multiply_adds_of(const Graph& graph, const Extents& extents) {
  double sum = 0;
  for (NodeId id = 0; id < graph.size(); ++id)
    sum += scheduler::multiply_adds(graph, graph[id], extents);
  return sum;
}

Traffic traffic_of(const Graph& graph, const Extents& extents, const LinkSpeed& link, bool results,
                   double multiply_adds_per_second) {
  Traffic sum;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op || !node.op->collective) continue;
    sum += scheduler::collective_of(*node.op).traffic(
        {graph, node, extents, link, results, multiply_adds_per_second});
  }
  return sum;
}

}  // namespace weft

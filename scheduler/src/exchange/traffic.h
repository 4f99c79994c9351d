#pragma once
// How long the exchanges of a graph take (traffic_of()).

#include "weft/graph/graph.h"
#include "weft/scheduler/link.h"

namespace weft::scheduler {

// One exchange whose traffic is estimated.
struct TrafficCase {
  const Graph& graph;
  const Node& node;
  const Extents& extents;
  const LinkSpeed& link;
  const bool results;                     // somebody wants those of the model
  const double multiply_adds_per_second;  // 0: unknown

  const Shape& input() const { return graph[node.inputs[0]].spec.shape; }
  std::int64_t bytes_of(const Shape& rows) const {
    return rows[0].extent(extents) * rows.cols() * 4;
  }
};

// What a node computes at these extents.
double multiply_adds(const Graph& graph, const Node& node, const Extents& extents);

}  // namespace weft::scheduler

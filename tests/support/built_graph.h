#pragma once
// For tests: graphs that builder code returns for made-up models.

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/arch/made_source.h"

namespace weft::test {

inline Graph build(const arch::MadeSource& source, const arch::GraphOptions& options = {}) {
  const arch::Architecture& architecture = arch::find_architecture(source);
  Graph graph = arch::build_graph(source, architecture, *configure(source, architecture), options);
  check(graph);
  return graph;
}

// Fails the test if there is none.
inline const Node& node(const Graph& graph, std::string_view path) {
  const NodeId id = graph.find(path);
  REQUIRE_MESSAGE(id != kNoNode, std::string(path));
  return graph[id];
}

}  // namespace weft::test

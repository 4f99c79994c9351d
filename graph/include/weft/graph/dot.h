#pragma once
// A graph as text for Graphviz: `dot -Tsvg`. Layers (paths "blk.N.") are clusters, runs of layers
// that do the same become one cluster with its count, weights are lines in the box of the op that
// uses them, edges carry type and shape. Nodes made by a pass have a double border and name it.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/graph.h"

namespace weft {

// What is known about a node besides the graph: a line for its box, and how hot it is. Of layers
// drawn as one, the notes of the first count.
struct DotNote {
  std::string text;  // "1.2 ms, 31 % of the step"; empty: no line
  double heat = -1;  // 0 (white) .. 1 (red); negative: the colour of the node's kind
};

struct DotOptions {
  std::string title;  // any text; escaped
  bool fold = true;   // consecutive layers of the same ops, attributes, types and wiring become one
  // Layers outside [first_layer, last_layer] shrink to one node per run; -1: up to the last one.
  std::int64_t first_layer = 0, last_layer = -1;
  std::vector<DotNote> notes;  // by NodeId; may be shorter than the graph
};

std::string to_dot(const Graph& graph, const DotOptions& options = {});

}  // namespace weft

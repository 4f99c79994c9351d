#include "weft/graph/graph.h"

#include <iostream>

#include "weft/ops/all_ops.h"

int main() {
  weft::Graph graph;
  const auto x = graph.input("x", {.dtype = weft::f32, .shape = weft::Shape{4}});
  graph.output("y", x);
  weft::check(graph);
  std::cout << weft::all_ops().size() << " ops\n";
}

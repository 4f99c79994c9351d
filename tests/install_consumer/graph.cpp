#include <iostream>

#include "weft/graph/graph.h"
#include "weft/ops/all_ops.h"

int main() {
  weft::Graph graph;
  const auto x = graph.input("x", {weft::Shape{4}, weft::f32});
  graph.output("y", x);
  weft::check(graph);
  std::cout << weft::all_ops().size() << " ops\n";
}

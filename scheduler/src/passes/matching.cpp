#include "matching.h"

namespace weft::scheduler {

Matching::Matching(const Graph& graph) : graph_(graph), users_(graph.users()), output_(graph) {
  for (const Graph::Output& output : graph.outputs()) output_[output.node] = 1;
}

}  // namespace weft::scheduler

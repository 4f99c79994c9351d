#include "matching.h"

namespace weft {

Matching::Matching(const Graph& graph)
    : graph_(graph), users_(graph.users()), output_(static_cast<std::size_t>(graph.size())) {
  for (const Graph::Output& output : graph.outputs())
    output_[static_cast<std::size_t>(output.node)] = true;
}

}  // namespace weft

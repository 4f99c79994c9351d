#pragma once
// Text for Graphviz (`dot -Tsvg`), of which it has nothing to complain.

#include <string>

#include "weft/graph/picture.h"

namespace weft {

std::string to_dot(const Picture& picture);
std::string to_dot(const Graph& graph, const PictureOptions& options = {});

}  // namespace weft

#pragma once
// Text for Graphviz (`dot -Tsvg`), of which it has nothing to complain.

#include <string>
#include <string_view>

#include "weft/graph/picture.h"

namespace weft {

std::string to_dot(const Picture& picture);
std::string to_dot(const Graph& graph, const PictureOptions& options = {});

// Any text for XML, HTML and HTML-like labels of Graphviz: with entities, and a '?' for control
// characters and for bytes that are no UTF-8.
std::string markup_text(std::string_view text);

}  // namespace weft

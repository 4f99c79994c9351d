#pragma once
// Pictures as Graphviz input (`dot -Tsvg`).

#include <string>
#include <string_view>

#include "weft/draw/picture.h"

namespace weft::draw {

std::string to_dot(const Picture& picture);
std::string to_dot(const Graph& graph, const PictureOptions& options = {});

// Escapes any text for XML, HTML and Graphviz's HTML-like labels: entities, and '?' for control
// characters and bytes that are not UTF-8.
std::string markup_text(std::string_view text);

}  // namespace weft::draw

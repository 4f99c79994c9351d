#pragma once
// A picture as one HTML file that needs nothing else: pan, zoom, search, facts of every box.

#include <string>
#include <vector>

#include "weft/scheduler/picture_notes.h"

namespace weft::tools {

// `svg` is Graphviz' drawing of the picture. The file is well-formed XML, too.
std::string viewer_html(const std::string& title, const std::string& svg,
                        const std::vector<BoxFacts>& facts);

}  // namespace weft::tools

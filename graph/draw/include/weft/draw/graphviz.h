#pragma once
#include <string>
#include <string_view>

namespace weft::draw {

// Runs Graphviz' program `dot` on `text` and returns the picture; `format` is that of -T, "svg".
// Throws UnsupportedError if the program is not installed, IoError if it fails.
std::string render(std::string_view text, const std::string& format);

}  // namespace weft::draw

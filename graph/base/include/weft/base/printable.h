#pragma once
// Foreign text made fit for a terminal or a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Control characters, bidirectional overrides, backslashes and bytes that are not UTF-8 are escaped
// (\n, \x1b, \u202e); what exceeds `max_bytes` of input is cut and marked with "...".
std::string printable(std::string_view text, std::size_t max_bytes = 120);
// The same for a path: nothing that an operating system accepts is cut.
std::string printable_path(std::string_view path);

}  // namespace weft

#pragma once
// Text from files and users made safe for a terminal or a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Control characters, bidirectional overrides, backslashes and bytes that are not UTF-8 are escaped
// (\n, \x1b, \u202e); input beyond `max_bytes` is cut off and replaced by "...".
std::string printable(std::string_view text, std::size_t max_bytes = 120);
// The same for a path; the limit is the longest path that the operating system accepts.
std::string printable_path(std::string_view path);

}  // namespace weft

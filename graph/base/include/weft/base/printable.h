#pragma once
// Makes untrusted text safe to print in a terminal or a message.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Escapes control characters, bidirectional overrides, backslashes and bytes that are not UTF-8
// (\n, \x1b, \u202e). Truncates input after `max_bytes` and appends "...".
std::string printable(std::string_view text, std::size_t max_bytes = 120);
// The same for a path. Never truncates a path that the operating system accepts.
std::string printable_path(std::string_view path);
// The text as a terminal may get it: the same characters are escaped, in full length, but for tabs,
// line ends (LF, CR LF) and backslashes.
std::string terminal_safe(std::string_view text);

}  // namespace weft

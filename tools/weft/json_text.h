#pragma once
// Strings as JSON, with their quotes.

#include <string>
#include <string_view>

namespace weft::tools {

// Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
// A text that is not UTF-8 becomes {"hex": "..."}, so that no byte is lost.
std::string json_string_or_hex(std::string_view text);

}  // namespace weft::tools

#pragma once
// Names of files that requests give.

#include <string_view>

namespace weft::api::native {

// Whether the name stands for a file in a folder: without separators, control characters, "." and
// "..", and not too long.
bool is_plain_file_name(std::string_view name);

}  // namespace weft::api::native

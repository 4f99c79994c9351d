#pragma once
// Files that people write: prompts, lists, grammars, templates, keys.

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/base/read_file.h"

namespace weft {

// `text` without the byte order mark (UTF-8) that some editors write at its beginning.
std::string_view without_byte_order_mark(std::string_view text);

// All bytes of a file or pipe, "-" for stdin, without a byte order mark. Throws like read_file().
std::string read_text_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

}  // namespace weft

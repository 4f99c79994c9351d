#pragma once
// Files that people write: prompts, lists, grammars, templates, keys.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// `text` without the byte order mark (UTF-8) that some editors write at its beginning.
std::string_view without_byte_order_mark(std::string_view text);

// All bytes of a file, "-" for stdin, without a byte order mark. Throws IoError that names the
// file, ValueError for more than `max_bytes`.
std::string read_text_file(const std::string& path, std::size_t max_bytes = std::size_t{256} << 20);

}  // namespace weft

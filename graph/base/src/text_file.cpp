#include "weft/base/text_file.h"

#include "weft/base/read_file.h"

namespace weft {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  std::string text = path == "-" ? read_stdin(max_bytes) : read_file(path, max_bytes);
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

}  // namespace weft

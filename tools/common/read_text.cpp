#include "common/read_text.h"

#include "weft/base/text_file.h"

namespace weft::cli {

std::string read_text(const std::string& path) {
  std::string text = read_text_file(path);
  if (!text.ends_with('\n')) return text;
  text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace weft::cli

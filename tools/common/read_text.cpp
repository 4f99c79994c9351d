#include "common/read_text.h"

#include "weft/base/text.h"
#include "weft/base/text_file.h"

namespace weft::cli {

std::string read_text(const std::string& path) {
  std::string text = read_text_file(path);
  if (text.ends_with('\n')) text.resize(without_line_end(text).size());
  return text;
}

}  // namespace weft::cli

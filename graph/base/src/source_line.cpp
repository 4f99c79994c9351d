#include "weft/base/source_line.h"

#include <fmt/format.h>

namespace weft {

std::string to_string(SourceLine where) {
  if (where.file_name().empty()) return "line unknown";
  return fmt::format("{}:{}", where.file_name(), where.line());
}

}  // namespace weft

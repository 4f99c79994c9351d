#include "weft/base/error.h"

namespace weft {

std::string to_string(const std::source_location& where) {
  return fmt::format("{}:{}", where.file_name(), where.line());
}

}  // namespace weft

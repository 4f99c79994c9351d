#include "inputs/token_list.h"

#include <algorithm>
#include <charconv>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

namespace weft::tools {

std::vector<std::int32_t> parse_list(std::string_view flag, std::string_view text) {
  std::vector<std::int32_t> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const char* end = text.data() + comma;
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, end, value);
    if (error != std::errc() || stop != end) {
      fail<ValueError>("{} must be numbers with commas between them, got '{}'", flag,
                       printable(text));
    }
    values.push_back(value);
    at = comma + 1;
  }
  return values;
}

}  // namespace weft::tools

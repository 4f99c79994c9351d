#include "weft/http/exchange.h"

#include "weft/base/text.h"

namespace weft::http {

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (equals_ignoring_case(key, name)) return value;
  return {};
}

}  // namespace weft::http

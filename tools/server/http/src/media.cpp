#include "weft/http/media.h"

#include <string>

#include "weft/base/text.h"

namespace weft::http {

bool may_be_json(const RequestHead& head) {
  const std::string_view text = find_header(head.headers, "content-type");
  const std::string type = to_lower(trim(text.substr(0, text.find(';'))));
  if (type.empty() || type == "application/json" || type == "text/plain") return true;
  if (type == "application/x-www-form-urlencoded") return true;
  return type.starts_with("application/") && type.ends_with("+json");
}

}  // namespace weft::http

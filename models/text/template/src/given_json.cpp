#include "given_json.h"

#include "weft/base/error.h"

namespace weft::chat {

nlohmann::ordered_json parse_given(std::string_view what, std::string_view json) {
  try {
    return nlohmann::ordered_json::parse(json);
  } catch (const nlohmann::ordered_json::parse_error& e) {
    const std::string_view why = e.what();  // "[json.exception.parse_error.101] parse error .."
    fail<FormatError>("{} is not JSON: {}", what, why.substr(why.find("] ") + 2));
  }
}

}  // namespace weft::chat

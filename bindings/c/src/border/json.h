#pragma once
// Results as JSON.

#include <string>

#include <nlohmann/json.hpp>

namespace weft::c_api {

using Json = nlohmann::ordered_json;

// On one line, with U+FFFD for bytes that are not UTF-8, as file names may have.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::c_api

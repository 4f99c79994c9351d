#include "json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft::tools {

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_string_or_hex(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    std::string hex;
    for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return "{\"hex\": \"" + hex + "\"}";
  }
}

}  // namespace weft::tools

#pragma once
// JSON that callers give as text.

#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::chat {

// Throws FormatError "WHAT is not JSON: ..".
nlohmann::ordered_json parse_given(std::string_view what, std::string_view json);

}  // namespace weft::chat

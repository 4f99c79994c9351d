#pragma once
// JSON that callers give as text. In time linear in the text, unless hashes of names collide: the
// object of nlohmann::ordered_json compares each new name with all names before.

#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::chat {

// Of several members with one name, the last value counts, in the place of the first. Throws
// FormatError "WHAT is not JSON: ..".
nlohmann::ordered_json parse_given(std::string_view what, std::string_view json);
// Only the error.
void check_given(std::string_view what, std::string_view json);

// The function of a tool {"type": "function", "function": {..}}, or the tool that is one itself.
template <class Json>
Json& function_of(Json& tool) {
  return tool.is_object() && tool.contains("function") ? tool["function"] : tool;
}

}  // namespace weft::chat

#pragma once
// Parses JSON that callers pass as text. Takes time linear in the text, unless hashes of names
// collide: the object of nlohmann::ordered_json compares each new name with all names before.

#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::chat {

// If several members have one name, the last value counts, in the place of the first. Throws
// FormatError "WHAT is not JSON: ..".
nlohmann::ordered_json parse_given(std::string_view what, std::string_view json);
// Throws the same errors, without parsing to values.
void check_given(std::string_view what, std::string_view json);

// The function of a tool {"type": "function", "function": {..}}, or the tool that is one itself.
template <class Json>
Json& function_of(Json& tool) {
  return tool.is_object() && tool.contains("function") ? tool["function"] : tool;
}

}  // namespace weft::chat

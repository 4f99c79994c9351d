#pragma once
// Arguments of calls, as a model wrote them.

#include <string>
#include <string_view>

namespace weft::chat {

// Whether a text is one JSON object.
bool is_json_object(std::string_view json);
// The JSON object that a text begins. Open brackets and strings are closed, and an incomplete last
// member is omitted unless it is a text: {"a": 1, "b": "xy gives {"a": 1, "b": "xy"}. An empty
// object if the text does not begin one. Also takes the text as a JSON string.
std::string repaired_arguments(std::string_view text);

}  // namespace weft::chat

#pragma once
// The functions that a model may call in a chat, and whether it must.

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ChatTool {
  std::string name;             // calls can be enforced if it is_tool_name()
  std::string parameters = {};  // JSON Schema of the object of arguments; empty: none
  bool strict = false;          // calls keep to the schema, regardless of the choice
  std::string definition = {};  // {"type": "function", "function": {..}}, for the template
  std::string place = {};       // names the function in errors: "tools[0].function"
};

struct ToolChoice {
  enum class Kind {
    automatic,  // calls or content
    none,       // content; the prompt does not mention the tools
    required,   // at least one call
    named,      // one call of the tool `name`
  };
  Kind kind = Kind::automatic;
  std::string name = {};
};

// Letters, digits and _ - . : /, at most 256 of them: the notations of all models can hold these.
bool is_tool_name(std::string_view name);

// An array of definitions, {"type": "function", "function": {"name", "description", "parameters",
// "strict"}} or the function alone. `place` names the array in errors. Throws FormatError for
// anything else, and for a name twice. Names may be any text.
std::vector<ChatTool> parse_tools(std::string_view json, const std::string& place);

// The definitions as a JSON array; empty if there are none.
std::string definitions_of(const std::vector<ChatTool>& tools);

// Throws PlaceError for two tools of one name, with ChatTool::place, and with `place` for a choice
// that needs a tool which is missing; ValueError if the place is empty.
void check_tools(const std::vector<ChatTool>& tools, const ToolChoice& choice,
                 const std::string& place);

}  // namespace weft

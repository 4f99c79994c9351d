#pragma once
// tool_choice of OpenAI's interfaces.

#include <optional>
#include <string>
#include <vector>

#include "weft/api/forms.h"
#include "weft/chat/tools.h"

namespace weft::api {

// The choice, and the only tools that it leaves.
struct ToolSelection : ToolChoice {
  struct Allowed {
    std::string name;
    std::string param;  // path of the name
  };
  std::optional<std::vector<Allowed>> allowed = {};  // nullopt: all tools
};

// Where a choice has the name of a function.
enum class ChoiceStyle {
  nested,  // {"type": "function", "function": {"name": ".."}}
  flat,    // {"type": "function", "name": ".."}
};

// "none", "auto", "required", a function, or {"type": "allowed_tools", "mode": .., "tools": [..]},
// whose mode and tools may be in a member "allowed_tools". Both styles are accepted; errors are in
// terms of `style`.
Form<ToolSelection> tool_choice_form(ChoiceStyle style = ChoiceStyle::nested);

// The tools that the choice allows: the prompt does not mention others. Throws ApiError 400 for an
// allowed tool that is missing.
std::vector<ChatTool> selected_tools(std::vector<ChatTool> tools, const ToolSelection& selection);

}  // namespace weft::api

#include "weft/api/interface_forms.h"

#include <nlohmann/json.hpp>

#include "weft/api/chat_fields.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"

namespace weft::api {

std::string thinking_kwargs(bool think) {
  return JsonObject().add("enable_thinking", think).add("thinking", think).str();
}

std::string effort_kwargs(std::string_view effort) {
  if (effort.empty()) return "";
  const std::string level = JsonObject().add("reasoning_effort", effort).str();
  return effort == "none" ? merge_objects(level, thinking_kwargs(false)) : level;
}

ChatTool make_tool(const FunctionText& function, const Path& path) {
  JsonObject json;
  json.add("name", function.name);
  if (!function.description.empty()) json.add("description", function.description);
  if (!function.parameters.empty()) json.add_json("parameters", function.parameters);
  static const Form<ChatTool> form = function_form();
  ChatTool tool = form.read(parse_json(json.str()), path);
  tool.strict = function.strict;
  return tool;
}

}  // namespace weft::api

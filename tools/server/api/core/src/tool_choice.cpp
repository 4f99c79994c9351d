#include "weft/api/tool_choice.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/base/json_string.h"
#include "weft/base/keyed_hash.h"

namespace weft::api {
namespace {

using ChoiceKind = ToolChoice::Kind;

constexpr const char* kExpectedNested =
    R"("none", "auto", "required" or {"type":"function","function":{"name":".."}})";
constexpr const char* kExpectedFlat =
    R"("none", "auto", "required" or {"type":"function","name":".."})";

const Json& required_member(const Json& object, const char* name, const Path& path) {
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) refuse(path.member(name), "is required");
  return *at;
}

ToolSelection::Allowed name_in(const Json& object, const Path& path) {
  const Json& name = required_member(object, "name", path);
  const Path member = path.member("name");
  if (!name.is_string()) refuse(member, "a text", name);
  return {name.get<std::string>(), member.text()};
}

// The function that {"type": "function", ..} names.
ToolSelection::Allowed named_function(const Json& json, const Path& path, ChoiceStyle style) {
  const bool nested =
      json.contains("function") || (style == ChoiceStyle::nested && !json.contains("name"));
  if (!nested) return name_in(json, path);
  const Json& function = required_member(json, "function", path);
  const Path member = path.member("function");
  if (!function.is_object()) refuse(member, "an object", function);
  return name_in(function, member);
}

// Tools of other types are skipped here as they are in the list of tools.
std::vector<ToolSelection::Allowed> allowed_functions(const Json& tools, const Path& path,
                                                      ChoiceStyle style) {
  if (!tools.is_array()) refuse(path, "a list", tools);
  if (tools.empty()) refuse(path, "must not be empty");
  std::vector<ToolSelection::Allowed> allowed;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Path item = path.item(i);
    if (!tools[i].is_object()) refuse(item, "an object", tools[i]);
    if (tools[i].value("type", Json("function")) == "function")
      allowed.push_back(named_function(tools[i], item, style));
  }
  return allowed;
}

ToolSelection allowed_tools(const Json& json, const Path& path, ChoiceStyle style) {
  const Json& mode = required_member(json, "mode", path);
  if (mode != "auto" && mode != "required")
    refuse(path.member("mode"), R"("auto" or "required")", mode);
  ToolSelection selection;
  selection.kind = mode == "auto" ? ChoiceKind::automatic : ChoiceKind::required;
  selection.allowed =
      allowed_functions(required_member(json, "tools", path), path.member("tools"), style);
  return selection;
}

ToolSelection selection_of(ChoiceKind kind, std::string name = {}) {
  ToolSelection selection;
  selection.kind = kind;
  selection.name = std::move(name);
  return selection;
}

ToolSelection read_choice(const Json& json, const Path& path, ChoiceStyle style) {
  const char* const expected = style == ChoiceStyle::nested ? kExpectedNested : kExpectedFlat;
  if (json == "none") return selection_of(ChoiceKind::none);
  if (json == "auto") return selection_of(ChoiceKind::automatic);
  if (json == "required" || json == "any") return selection_of(ChoiceKind::required);
  if (!json.is_object()) refuse(path, expected, json);
  const auto type = json.find("type");
  if (type != json.end() && *type == "allowed_tools") {
    const auto inner = json.find("allowed_tools");
    if (inner == json.end() || inner->is_null()) return allowed_tools(json, path, style);
    const Path member = path.member("allowed_tools");
    if (!inner->is_object()) refuse(member, "an object", *inner);
    return allowed_tools(*inner, member, style);
  }
  if (type != json.end() && !type->is_null() && *type != "function")
    refuse(path.member("type"), R"("function" or "allowed_tools")", *type);
  return selection_of(ChoiceKind::named, named_function(json, path, style).name);
}

}  // namespace

Form<ToolSelection> tool_choice_form(ChoiceStyle style) {
  return {style == ChoiceStyle::nested ? kExpectedNested : kExpectedFlat,
          R"({"anyOf":[{"enum":["none","auto","required"]},{"type":"object"}]})", kString | kObject,
          [style](const Json& json, const Path& path) { return read_choice(json, path, style); }};
}

std::vector<ChatTool> selected_tools(std::vector<ChatTool> tools, const ToolSelection& selection) {
  if (!selection.allowed) return tools;
  ForeignSet<std::string_view> names, allowed_names;
  for (const ChatTool& tool : tools) names.insert(tool.name);
  for (const ToolSelection::Allowed& allowed : *selection.allowed) {
    allowed_names.insert(allowed.name);
    if (!names.contains(allowed.name))
      throw bad_request(allowed.param, fmt::format("no tool is named {}",
                                                   json_string(allowed.name.substr(0, 200))));
  }
  std::erase_if(tools, [&](const ChatTool& tool) { return !allowed_names.contains(tool.name); });
  return tools;
}

}  // namespace weft::api

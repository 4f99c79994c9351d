#include "weft/chat/tools.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/chat/place_error.h"
#include "weft/reply/reply_parser.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;  // models see members in the order in which they were written

constexpr std::size_t kMaxName = 256;

ChatTool read_tool(const Json& json, const std::string& place) {
  const bool nested = json.contains("function");
  const Json& function = nested ? json["function"] : json;
  ChatTool tool{.name = function["name"].get<std::string>(),
                .definition = json.dump(-1, ' ', false, Json::error_handler_t::replace),
                .place = nested ? place + ".function" : place};
  const auto parameters = function.find("parameters");
  if (parameters != function.end() && !parameters->is_null()) tool.parameters = parameters->dump();
  const auto strict = function.find("strict");
  if (strict == function.end() || strict->is_null()) return tool;
  if (!strict->is_boolean())
    fail<FormatError>("{}.strict: must be true or false, got {}", tool.place, strict->type_name());
  tool.strict = strict->get<bool>();
  return tool;
}

std::string quoted_name(std::string_view name) {
  return fmt::format("\"{}\"", printable(name));
}

}  // namespace

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  });
}

std::vector<ChatTool> parse_tools(std::string_view json, const std::string& place) {
  ReplyParser({}, {.tools = std::string(json)});  // throws unless all tools have names
  std::vector<ChatTool> tools;
  const Json list = Json::parse(json, nullptr, false);
  for (std::size_t i = 0; i < list.size(); ++i)
    tools.push_back(read_tool(list[i], fmt::format("{}[{}]", place, i)));
  try {
    check_tools(tools, {}, place);
  } catch (const PlaceError& e) {
    fail<FormatError>("{}", e.what());
  }
  return tools;
}

std::string definitions_of(const std::vector<ChatTool>& tools) {
  if (tools.empty()) return "";
  std::string all;
  for (const ChatTool& tool : tools) all += (all.empty() ? "[" : ",") + tool.definition;
  return all + "]";
}

void check_tools(const std::vector<ChatTool>& tools, const ToolChoice& choice,
                 const std::string& place) {
  std::set<std::string_view> names;
  for (const ChatTool& tool : tools)
    if (!names.insert(tool.name).second)
      fail_in(tool.place.empty() ? "" : tool.place + ".name",
              "duplicate name " + quoted_name(tool.name));
  if (tools.empty() &&
      (choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::named))
    fail_in(place, "there are no tools");
  if (choice.kind == ToolChoice::Kind::named && !names.contains(choice.name))
    fail_in(place, "no tool is named " + quoted_name(choice.name.substr(0, 200)));
}

}  // namespace weft

#include "input_items.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/page.h"
#include "weft/api/query.h"

namespace weft::api::responses {
namespace {

bool ascending(const ApiCall& call) {
  const std::string order = query_value(call.request(), "order");
  if (!order.empty() && order != "asc" && order != "desc")
    throw bad_request("order", "must be asc or desc");
  return order == "asc";
}

}  // namespace

std::string input_items(const Json& body) {
  Json items = Json::array();
  const auto input = body.find("input");
  if (input == body.end()) return "[]";
  if (input->is_string()) {
    const Json part = {{"type", "input_text"}, {"text", *input}};
    items.push_back({{"type", "message"}, {"role", "user"}, {"content", Json::array({part})}});
  } else if (input->is_array()) {
    items = *input;
  }
  for (Json& item : items) {
    if (!item.is_object()) continue;
    if (!item.contains("type")) item["type"] = "message";
    if (!item.contains("id")) item["id"] = new_id("msg_");
  }
  return to_text(items);
}

std::string page_of_items(const std::string& text, const ApiCall& call) {
  Json items = parse_json(text);
  if (!ascending(call)) std::ranges::reverse(items);
  Json page = page_of(std::move(items), call.request(),
                      {.after = "after", .before = "before", .max_limit = 100});
  page["object"] = "list";
  return to_text(page);
}

}  // namespace weft::api::responses

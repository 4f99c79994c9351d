#include "input_items.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/query.h"

namespace weft::api::responses {
namespace {

constexpr std::size_t kUsualLimit = 20, kMaxLimit = 100;

std::size_t limit_of(const ApiCall& call) {
  const std::string text = query_value(call.request(), "limit");
  if (text.empty()) return kUsualLimit;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > kMaxLimit)
    throw bad_request("limit", fmt::format("must be 1 to {}", kMaxLimit));
  return limit;
}

bool ascending(const ApiCall& call) {
  const std::string order = query_value(call.request(), "order");
  if (!order.empty() && order != "asc" && order != "desc")
    throw bad_request("order", "must be asc or desc");
  return order == "asc";
}

// The item whose id a parameter has; nullopt without the parameter.
std::optional<Json::iterator> cursor(Json& items, const ApiCall& call, const char* parameter) {
  const std::string id = query_value(call.request(), parameter);
  if (id.empty()) return {};
  const auto at = std::ranges::find_if(
      items, [&](const Json& item) { return item.is_object() && item.value("id", Json()) == id; });
  if (at == items.end()) throw bad_request(parameter, "is not the id of an item");
  return at;
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
  const auto limit = static_cast<std::ptrdiff_t>(limit_of(call));
  const std::optional<Json::iterator> after = cursor(items, call, "after"),
                                      before = cursor(items, call, "before");
  auto from = after ? *after + 1 : items.begin(), to = before.value_or(items.end());
  if (from > to) throw bad_request("before", "is not the id of an item behind that of after");
  const bool has_more = to - from > limit;
  if (has_more && before && !after)
    from = to - limit;
  else if (has_more)
    to = from + limit;
  const Json page(std::vector<Json>(from, to));
  const auto id_at = [&](std::size_t i) {
    return page.empty() ? Json() : page[i].value("id", Json());
  };
  return to_text({{"object", "list"},
                  {"data", page},
                  {"first_id", id_at(0)},
                  {"last_id", id_at(page.size() - 1)},
                  {"has_more", has_more}});
}

}  // namespace weft::api::responses

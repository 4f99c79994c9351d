#include "weft/api/page.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/query.h"

namespace weft::api {
namespace {

constexpr std::size_t kUsualLimit = 20;

std::size_t limit_of(const http::RequestHead& head, std::size_t max_limit) {
  const std::string text = query_value(head, "limit");
  if (text.empty()) return kUsualLimit;
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size() || limit < 1 || limit > max_limit)
    throw bad_request("limit", fmt::format("must be 1 to {}", max_limit));
  return limit;
}

// The item whose id a parameter has; nullopt without the parameter.
std::optional<Json::iterator> cursor(Json& items, const http::RequestHead& head,
                                     const char* parameter) {
  const std::string id = query_value(head, parameter);
  if (id.empty()) return {};
  const auto at = std::ranges::find_if(
      items, [&](const Json& item) { return item.is_object() && item.value("id", Json()) == id; });
  if (at == items.end()) throw bad_request(parameter, "is not the id of an item");
  return at;
}

}  // namespace

Json page_of(Json items, const http::RequestHead& head, const PageForm& form) {
  const auto limit = static_cast<std::ptrdiff_t>(limit_of(head, form.max_limit));
  const std::optional<Json::iterator> after = cursor(items, head, form.after),
                                      before = cursor(items, head, form.before);
  auto from = after ? *after + 1 : items.begin(), to = before.value_or(items.end());
  if (from > to)
    throw bad_request(form.before,
                      fmt::format("is not the id of an item behind that of {}", form.after));
  const bool has_more = to - from > limit;
  if (has_more && before && !after)
    from = to - limit;
  else if (has_more)
    to = from + limit;
  Json page(std::vector<Json>(from, to));
  const auto id_at = [&](std::size_t i) {
    return page.empty() ? Json() : page[i].value("id", Json());
  };
  Json first = id_at(0), last = id_at(page.size() - 1);
  return {{"data", std::move(page)},
          {"first_id", std::move(first)},
          {"last_id", std::move(last)},
          {"has_more", has_more}};
}

}  // namespace weft::api

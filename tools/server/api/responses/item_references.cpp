#include "api/responses/item_references.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/fields.h"

namespace weft::api::responses {
namespace {

// The type may be left out.
bool is_reference(const Json& item) {
  if (!item.is_object()) return false;
  const auto type = item.find("type");
  if (type != item.end() && !type->is_null()) return *type == "item_reference";
  return item.contains("id") && !item.contains("role") && !item.contains("content");
}

Json referenced(const Json& item, const Store& store, const Path& path) {
  const Path member = path.member("id");
  const auto id = item.find("id");
  if (id == item.end() || id->is_null()) refuse(member, "is required");
  if (!id->is_string()) refuse(member, "a text", *id);
  const auto& name = id->get_ref<const std::string&>();
  const std::optional<std::string> json = store.item(name);
  if (!json)
    refuse(member, fmt::format("{} is an unknown item, or its response is no longer kept",
                               literal(name.substr(0, 100))));
  return parse_json(*json);
}

}  // namespace

std::shared_ptr<const Json> with_items(std::shared_ptr<const Json> body, const Store& store) {
  const auto input = body->is_object() ? body->find("input") : body->end();
  if (input == body->end() || !input->is_array()) return body;
  if (std::ranges::none_of(*input, is_reference)) return body;
  auto changed = std::make_shared<Json>(*body);
  Json& items = (*changed)["input"];
  const Path root;
  const Path path = root.member("input");
  for (std::size_t i = 0; i < items.size(); ++i)
    if (is_reference(items[i])) items[i] = referenced(items[i], store, path.item(i));
  return changed;
}

}  // namespace weft::api::responses

#include "item_references.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/fields.h"
#include "weft/base/json_string.h"

namespace weft::api::responses {
namespace {

// The type may be left out.
bool is_reference(const Json& item) {
  if (!item.is_object()) return false;
  const auto type = item.find("type");
  if (type != item.end() && !type->is_null()) return *type == "item_reference";
  return item.contains("id") && !item.contains("role") && !item.contains("content");
}

// The limit for all referenced items together. A short reference may name a long item, any number
// of times.
constexpr std::size_t kMaxItemBytes = std::size_t{32} << 20;

class Items {
 public:
  Items(const Store& store, std::string_view owner) : store_(store), owner_(owner) {}

  Json referenced(const Json& item, const Path& path) {
    const Path member = path.member("id");
    const auto id = item.find("id");
    if (id == item.end() || id->is_null()) refuse(member, "is required");
    if (!id->is_string()) refuse(member, "a text", *id);
    const Item& found = find(id->get_ref<const std::string&>(), member);
    n_bytes_ += found.n_bytes;
    if (n_bytes_ > kMaxItemBytes)
      refuse(member,
             fmt::format("the items of all references have more than {} bytes", kMaxItemBytes));
    return found.json;
  }

 private:
  struct Item {
    Json json;
    std::size_t n_bytes;
  };

  const Item& find(const std::string& id, const Path& path) {
    if (const auto known = items_.find(id); known != items_.end()) return known->second;
    const std::optional<std::string> json = store_.item(id, owner_);
    if (!json)
      refuse(path, fmt::format("{} is an unknown item, or its response is no longer kept",
                               json_string(id.substr(0, 100))));
    return items_.emplace(id, Item{parse_json(*json), json->size()}).first->second;
  }

  const Store& store_;
  const std::string_view owner_;
  std::unordered_map<std::string, Item> items_;
  std::size_t n_bytes_ = 0;
};

}  // namespace

std::shared_ptr<const Json> with_items(std::shared_ptr<const Json> body, const Store& store,
                                       std::string_view owner) {
  const auto input = body->is_object() ? body->find("input") : body->end();
  if (input == body->end() || !input->is_array()) return body;
  if (std::ranges::none_of(*input, is_reference)) return body;
  auto changed = std::make_shared<Json>(*body);
  Json& items = (*changed)["input"];
  const Path root;
  const Path path = root.member("input");
  Items kept(store, owner);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (is_reference(items[i])) items[i] = kept.referenced(items[i], path.item(i));
  return changed;
}

}  // namespace weft::api::responses

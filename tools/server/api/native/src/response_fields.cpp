#include "response_fields.h"

#include <nlohmann/json.hpp>

#include "weft/api/json.h"

namespace weft::api::native {
namespace {

const Json* find(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!at->is_object()) return nullptr;
    const auto member = at->find(std::string(name));
    if (member == at->end()) return nullptr;
    at = &*member;
  }
  return at;
}

}  // namespace

std::string selected_members(std::string_view json, std::span<const std::string> paths) {
  const Json object = parse_json(json);
  Json selected = Json::object();
  for (const std::string& path : paths)
    if (const Json* value = find(object, path)) selected[path] = *value;
  return to_text(selected);
}

}  // namespace weft::api::native

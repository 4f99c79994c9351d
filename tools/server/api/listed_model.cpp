#include "api/listed_model.h"

#include <algorithm>

#include "api/errors.h"

namespace weft::api {
namespace {

constexpr std::string_view kTag = ":latest";

}  // namespace

bool has_name(const ListedModel& model, std::string_view name) {
  return model.name == name || std::ranges::find(model.aliases, name) != model.aliases.end();
}

ListedModel listed_model(const Models& models, std::string_view name) {
  std::string_view bare = name;
  if (bare.ends_with(kTag)) bare.remove_suffix(kTag.size());
  for (ListedModel& model : models.list())
    if (has_name(model, name) || has_name(model, bare)) return std::move(model);
  throw model_not_found(name);
}

}  // namespace weft::api

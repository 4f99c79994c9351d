#include "weft/api/listed_model.h"

#include <algorithm>
#include <filesystem>

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

ApiError without_paths(const ApiError& error, const Models& models) {
  namespace fs = std::filesystem;
  if (std::string_view(error.what()).find(fs::path::preferred_separator) == std::string_view::npos)
    return error;
  ApiError shown = error;
  for (const ListedModel& model : models.list()) {
    const fs::path path = model.path;
    if (!path.has_parent_path()) continue;
    shown = with_replaced(shown, model.path, model.name);
    if (path.parent_path().is_absolute() && path.parent_path() != path.root_path())
      shown = without_folder(shown, path.parent_path().string());
  }
  return shown;
}

}  // namespace weft::api

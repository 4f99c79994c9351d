#include "weft/hosting/models_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/api/forms.h"
#include "weft/base/error.h"
#include "weft/base/text_file.h"
#include "weft/hosting/model_files.h"

#include "toml.h"

namespace weft::server {
namespace {

const api::Fields<HostedModel>& model_fields() {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  static const auto table =
      api::Fields<HostedModel>()
          .required("path", &HostedModel::path, api::nonempty_text(), "the file of the model")
          .add("names", &HostedModel::names, api::list(api::nonempty_text(), 1),
               "names by which clients call it")
          .add("ctx_size", &HostedModel::context, api::whole(0, kMax), "tokens of all slots")
          .add("parallel", &HostedModel::slots, api::whole(1, 1024), "slots")
          .add("preload", &HostedModel::preload, api::boolean(), "load it at the start");
  return table;
}

struct ModelList {
  std::vector<HostedModel> models;
};

const api::Fields<ModelList>& list_fields() {
  static const auto table = api::Fields<ModelList>().required(
      "models", &ModelList::models, api::list(api::object(model_fields()), 1), "the models");
  return table;
}

// Clients may send unknown fields, but in a file of settings they are mistakes.
void refuse_unknown(const api::Json& object, const api::FieldList& known, const std::string& path) {
  if (!object.is_object()) return;
  std::vector<std::string_view> names;
  for (const auto& field : known.fields()) names.emplace_back(field.name);
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(names, name) == names.end())
      throw api::bad_request(path + name,
                             fmt::format("expected one of {}", fmt::join(names, ", ")));
  }
}

ModelList list_of(const api::Json& json) {
  refuse_unknown(json, list_fields(), "");
  ModelList list = list_fields().read(json);
  const api::Json& models = json.at("models");
  for (std::size_t i = 0; i < models.size(); ++i)
    refuse_unknown(models[i], model_fields(), fmt::format("models[{}].", i));
  return list;
}

// Messages name the file, the line if it is known, and the key.
ModelList read_list(const std::string& path, const std::string& text) {
  const bool is_toml = std::filesystem::path(path).extension() == ".toml";
  try {
    return list_of(is_toml ? read_toml(text) : api::parse_body(text));
  } catch (const api::ApiError& body_error) {
    const api::ApiError error = api::with_replaced(body_error, "the body", "the file");
    if (!is_toml) fail<ValueError>("{}: {}", path, error.what());
    fail<ValueError>("{}: line {}: {}", path, line_in_toml(text, error.param), error.what());
  } catch (const Error& error) {
    fail<ValueError>("{}: {}", path, error.what());
  }
}

}  // namespace

std::vector<HostedModel> models_in_file(const std::string& path) {
  const auto name_flag = [](std::string_view message) {
    return fmt::format("--models-file: cannot read {}", message);
  };
  ModelList list =
      read_list(path, reword_errors<IoError>(name_flag, [&] { return read_text_file(path); }));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (HostedModel& model : list.models) {
    model.path = (folder / model.path).string();
    if (model.names.empty()) model.names = {stem_of(model.path)};
    if (!std::filesystem::exists(model.path)) fail<IoError>("{}: no file {}", path, model.path);
  }
  return std::move(list.models);
}

}  // namespace weft::server

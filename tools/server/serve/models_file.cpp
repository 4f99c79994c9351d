#include "serve/models_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"

#include "api/forms.h"
#include "serve/model_files.h"

namespace weft::server {
namespace {

const api::Fields<ModelSource>& model_fields() {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  static const auto table =
      api::Fields<ModelSource>()
          .required("path", &ModelSource::path, api::nonempty_text(), "the file of the model")
          .add("names", &ModelSource::names, api::list(api::nonempty_text(), 1),
               "names by which clients call it")
          .add("ctx_size", &ModelSource::context, api::whole(0, kMax), "tokens of all slots")
          .add("parallel", &ModelSource::slots, api::whole(1, 1024), "slots")
          .add("preload", &ModelSource::preload, api::boolean(), "load it at the start");
  return table;
}

struct ModelList {
  std::vector<ModelSource> models;
};

const api::Fields<ModelList>& list_fields() {
  static const auto table = api::Fields<ModelList>().required(
      "models", &ModelList::models, api::list(api::object(model_fields()), 1), "the models");
  return table;
}

}  // namespace

std::vector<ModelSource> models_in_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail<IoError>("--models-file: cannot read {}: {}", path, std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ModelList list;
  try {
    list = list_fields().read(api::parse_body(text));
  } catch (const Error& error) {
    fail<ValueError>("{}: {}", path, error.what());
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (ModelSource& model : list.models) {
    model.path = (folder / model.path).string();
    if (model.names.empty()) model.names = {stem_of(model.path)};
    if (!std::filesystem::exists(model.path)) fail<IoError>("{}: no file {}", path, model.path);
  }
  return std::move(list.models);
}

}  // namespace weft::server

#pragma once
// Models by the names that the list shows.

#include <string_view>

#include "weft/api/context.h"
#include "weft/api/errors.h"

namespace weft::api {

// Whether it is the model's name, or another one that it has.
bool has_name(const ListedModel& model, std::string_view name);

// The model that has this name, or has it before a tag ":latest". Throws model_not_found().
ListedModel listed_model(const Models& models, std::string_view name);

// The error with names in place of the paths of model files, and without the folders of files
// beside them: clients need not know the folders of the server.
ApiError without_paths(const ApiError& error, const Models& models);

}  // namespace weft::api

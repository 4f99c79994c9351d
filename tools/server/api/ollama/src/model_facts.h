#pragma once
// Models as /api/tags, /api/ps and /api/show describe them.

#include <string>

#include "weft/api/context.h"
#include "weft/files/checkpoint.h"

namespace weft::api::ollama {

// {"format", "family", "parameter_size", "quantization_level", ..}.
std::string details_json(const Checkpoint& file);
// "1.1B", "33M", "512".
std::string parameter_size(std::int64_t n_params);
// A text of 64 hex digits that changes with the file: its path, size and time. Not a hash of its
// contents, which would have to be read.
std::string digest(const ListedModel& model);

// An item of /api/tags. Reads the file's header once if the model is not loaded; facts that cannot
// be read are empty.
std::string tag_json(const ListedModel& model);
// An item of /api/ps. REQUIRES: model.loaded.
std::string running_json(const ListedModel& model);
// The answer of /api/show. `verbose`: with the vocabulary, which is null otherwise.
std::string show_json(const ListedModel& model, bool verbose);

}  // namespace weft::api::ollama

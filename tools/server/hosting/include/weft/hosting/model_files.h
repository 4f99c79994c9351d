#pragma once
// Files of models in a folder.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/hosting/hosted_model.h"

namespace weft::server {

struct ModelFile {
  std::int64_t bytes = 0, modified = 0;  // seconds since 1970; 0 for a folder or a missing file
};
ModelFile describe_file(const std::string& path);

// The name of a file without folders and the extension.
std::string stem_of(const std::string& path);

// Every GGUF file below a folder, by its stem, sorted; parts of split files after the first are
// left out. Throws IoError for a folder that cannot be read, ValueError for one without models and
// for two files of the same stem.
std::vector<HostedModel> models_below(const std::string& folder);

}  // namespace weft::server

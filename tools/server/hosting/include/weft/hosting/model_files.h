#pragma once
// Files of models in a folder.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/hosting/hosted_model.h"

namespace weft::server {

struct ModelFile {
  std::int64_t bytes = 0, modified = 0;  // seconds since 1970; 0 for a folder or a missing file
};
ModelFile describe_file(const std::string& path);

// The name of a file without folders and the extension.
std::string stem_of(const std::string& path);

// The models below a folder, sorted by name: GGUF files by their stem, or by their path from the
// folder on without the extension ("qwen/model") where several have the same stem. Left out are
// hidden files and folders, parts of split files after the first, files for models that are none
// themselves (what reads pictures, adapters, importance matrices), and, with one warning for
// each of these, files whose names are not UTF-8 and files that cannot be read. Throws IoError for
// a folder that cannot be read, ValueError for one without models.
std::vector<HostedModel> models_below(const std::string& folder,
                                      const std::function<void(std::string_view)>& warn = {});

}  // namespace weft::server

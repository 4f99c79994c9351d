#pragma once
// Files of models in a folder.

#include <cstdint>
#include <string>
#include <vector>

namespace weft::server {

struct ModelFile {
  std::int64_t bytes = 0, modified = 0;  // seconds since 1970; 0 for a folder or a missing file
};
ModelFile describe_file(const std::string& path);

// The name of a file without folders and the extension.
std::string stem_of(const std::string& path);

}  // namespace weft::server

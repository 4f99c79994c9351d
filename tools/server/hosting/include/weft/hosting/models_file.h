#pragma once
// A list of models in a file, with settings of their own, as JSON or, if its name ends in .toml, as
// TOML:
//
//   {"models": [{"path": "chat.gguf", "names": ["chat", "gpt-4o"], "ctx_size": 16384},
//               {"path": "bge.gguf", "parallel": 1, "preload": true}]}

#include <string>
#include <vector>

#include "weft/hosting/hosted_model.h"

namespace weft::server {

// Paths are relative to the file. Throws IoError, and ValueError that names the file, the key and,
// for TOML, the line. Unknown keys are errors.
std::vector<HostedModel> models_in_file(const std::string& path);

}  // namespace weft::server

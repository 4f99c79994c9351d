#pragma once
// The settings with which a text is generated, as llama-server names them.

#include <string>

#include "weft/serve/engine.h"

namespace weft::api::native {

// generation_settings of /completion.
std::string settings_json(const TextRequest& request);

}  // namespace weft::api::native

#pragma once
// The settings with which a text is generated, as llama-server names them.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/serve/engine.h"

namespace weft::api::native {

// generation_settings of /completion, a JSON object, without the seed.
std::string settings_json(const TextRequest& request);
std::string with_seed(std::string_view settings, std::uint64_t seed);

}  // namespace weft::api::native

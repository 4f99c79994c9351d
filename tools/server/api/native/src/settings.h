#pragma once
// The settings with which a text is generated, as llama-server names them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/serve/engine.h"

namespace weft::api::native {

// generation_settings of /completion, a JSON object, without the seed. `dry_breakers`: the texts of
// which the sampler has the tokens.
std::string settings_json(const TextRequest& request, const std::vector<std::string>& dry_breakers);
// Without a seed: -1, by which each request gets another one.
std::string with_seed(std::string_view settings, std::optional<std::uint64_t> seed);

}  // namespace weft::api::native

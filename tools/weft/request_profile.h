#pragma once
#include <memory>

#include "serve/request_profiles.h"

namespace weft::tools {

// Writes a trace like that of `weft profile -o`.
std::shared_ptr<server::RequestProfile> make_request_profile();

}  // namespace weft::tools

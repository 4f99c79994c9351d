#pragma once
#include <memory>

#include "weft/program/request_profile.h"

namespace weft::tools {

// Writes a trace like that of `weft profile -o`.
std::shared_ptr<server::RequestProfile> make_request_profile();

}  // namespace weft::tools

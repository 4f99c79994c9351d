#pragma once
// Anthropic's interface: /v1/messages, /v1/messages/count_tokens.

#include <vector>

#include "weft/api/routes.h"

namespace weft::api {

std::vector<Route> anthropic_routes();

}  // namespace weft::api

#pragma once
// Anthropic's interface: /v1/messages, /v1/messages/count_tokens.

#include <vector>

#include "weft/api/endpoints.h"

namespace weft::api {

std::vector<Endpoint> anthropic_endpoints();

}  // namespace weft::api

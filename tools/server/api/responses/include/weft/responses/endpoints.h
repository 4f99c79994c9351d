#pragma once
// OpenAI's responses: /v1/responses and its related endpoints.

#include <vector>

#include "weft/api/endpoints.h"

namespace weft::api {

// The endpoints share a store of responses, which lives as long as they do.
std::vector<Endpoint> responses_endpoints();

}  // namespace weft::api

#pragma once
// OpenAI's responses: /v1/responses and its related endpoints.

#include <vector>

#include "weft/api/routes.h"

namespace weft::api {

// The routes share a store of responses, which lives as long as they do.
std::vector<Route> responses_routes();

}  // namespace weft::api

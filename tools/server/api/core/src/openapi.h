#pragma once
// The description of the interface, made from the tables that read the requests.

#include <span>
#include <string>
#include <string_view>

#include "weft/api/endpoints.h"

namespace weft::api {

// An OpenAPI 3.1 document in JSON.
std::string openapi_document(std::span<const Endpoint> endpoints, std::string_view version);

}  // namespace weft::api

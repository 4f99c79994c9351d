#pragma once
// The items of a request's input, as clients may list them afterwards.

#include <string>

#include "weft/api/endpoints.h"
#include "weft/api/json.h"

namespace weft::api::responses {

// A JSON array of the items of `body`, each with an id: a text is a message of the user.
std::string input_items(const Json& body);

// The page of `items` that a request asks for: `order` (desc unless it is asc), `after` and `limit`
// (20 unless it is 1 to 100). Throws ApiError 400 for other values.
std::string page_of_items(const std::string& items, const ApiCall& call);

}  // namespace weft::api::responses

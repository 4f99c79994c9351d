#pragma once
// The items of a request's input, as clients may list them afterwards.

#include <string>

#include "weft/api/endpoints.h"
#include "weft/api/json.h"

namespace weft::api::responses {

// A JSON array of the items of `body`, each with an id: a text is a message of the user.
std::string input_items(const Json& body);

// The page of `items` that a request asks for. `order` is desc (the last item first) or asc; the
// page has the items between those with the ids `after` and `before`, at most `limit` of them (1 to
// 100, by default 20): the last ones if only `before` is given, otherwise the first ones.
// `has_more` says whether the limit left some out. Throws ApiError 400 for other values.
std::string page_of_items(const std::string& items, const ApiCall& call);

}  // namespace weft::api::responses

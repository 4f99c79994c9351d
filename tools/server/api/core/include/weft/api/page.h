#pragma once
// Lists that are answered page by page, as parameters of the query say.

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "weft/api/json.h"
#include "weft/http/exchange.h"

namespace weft::api {

// The parameters of a list. The cursors are ids of items: the page is behind `after`, and ends
// before `before`. One with only `before` is the end of what is there.
struct PageForm {
  const char *after, *before;
  std::size_t max_limit;
};

// One page of an array of items with ids, at most `limit` of them (a parameter of the query; 20
// without it), as {"data", "first_id", "last_id", "has_more"}. Throws ApiError 400 for a limit out
// of range, and for cursors that are not ids of items in this order.
Json page_of(Json items, const http::RequestHead& head, const PageForm& form);

}  // namespace weft::api

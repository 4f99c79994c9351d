#pragma once
// Items of /v1/responses that refer to items of earlier responses.

#include <memory>

#include "weft/api/json.h"

#include "store.h"

namespace weft::api::responses {

// `body` with each {"type": "item_reference", "id": ".."} of its input replaced by the item of a
// response that is kept. Throws ApiError 400 that names the reference for unknown ids.
std::shared_ptr<const Json> with_items(std::shared_ptr<const Json> body, const Store& store,
                                       std::string_view owner = {});

}  // namespace weft::api::responses

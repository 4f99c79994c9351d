#pragma once
// Types of request bodies.

#include "weft/http/exchange.h"

namespace weft::http {

// Whether the body may be read as JSON: application/json or application/*+json with any parameters,
// no type, text/plain, and application/x-www-form-urlencoded, which `curl -d` sends.
bool may_be_json(const RequestHead& head);

}  // namespace weft::http

#pragma once
// The interfaces that the server has.

#include <vector>

#include "api/native/routes.h"
#include "api/routes.h"

namespace weft::server {

// Routes of all interfaces.
std::vector<api::Route> interface_routes(const api::NativeOptions& native);

}  // namespace weft::server

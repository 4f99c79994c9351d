#pragma once
// The interfaces that the server has.

#include <vector>

#include "weft/api/routes.h"
#include "weft/native/routes.h"

namespace weft::server {

// Routes of all interfaces.
std::vector<api::Route> interface_routes(const api::NativeOptions& native);

}  // namespace weft::server

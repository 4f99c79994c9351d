#pragma once
// The interfaces that the server has.

#include <vector>

#include "api/native/routes.h"
#include "api/routes.h"

namespace weft::server {

// Routes of all interfaces. `services` outlives them.
std::vector<api::Route> interface_routes(api::Services& services, const api::NativeOptions& native);

}  // namespace weft::server

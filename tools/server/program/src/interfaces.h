#pragma once
// The interfaces that the server has.

#include <vector>

#include "weft/api/endpoints.h"
#include "weft/native/endpoints.h"

namespace weft::server {

// Endpoints of all interfaces.
std::vector<api::Endpoint> interface_endpoints(const api::NativeOptions& native);

}  // namespace weft::server

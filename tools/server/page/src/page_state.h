#pragma once
// The state of the server that the page shows, as JSON.

#include <string>
#include <string_view>

#include "weft/run/session.h"

namespace weft::server {

struct Operations;

// Counters, and of each loaded model its memory and its slots as the viewer (ApiCall::owner()) may
// see them.
std::string state_json(const Operations& operations, std::string_view viewer);

// The graph of a step with one token: {"title", "facts", "clusters", "boxes", "edges"}.
std::string graph_json(const Model& model, const SessionOptions& options);

}  // namespace weft::server

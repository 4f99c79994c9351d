#pragma once
// The state of the server that the page shows, as JSON.

#include <string>

#include "weft/run/session.h"

namespace weft::server {

struct Operations;

// Counters, and of each loaded model its slots and memory.
std::string state_json(const Operations& operations);

// The graph of a step with one token: {"title", "facts", "clusters", "boxes", "edges"}.
std::string graph_json(const Model& model, const SessionOptions& options);

}  // namespace weft::server

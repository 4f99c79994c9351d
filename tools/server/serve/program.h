#pragma once
// `weft serve`: puts HTTP, the interfaces and the models together.

#include <functional>
#include <string>

#include "serve/flags.h"

namespace weft::server {

// What the page shows of a model; made by the caller, which can draw.
struct Pictures {
  std::function<std::string(const Model& model, const SessionOptions& options)> graph_json;
  std::function<std::string(const Model& model, const SessionOptions& options)> plan_svg;
};

// Serves until SIGTERM or SIGINT. Returns the exit code: 0 if all requests were finished. Throws,
// before the port is open, for flags and models that do not work.
int serve(Flags flags, const Pictures& pictures, const std::string& version);

}  // namespace weft::server

#pragma once
// `weft serve`: puts HTTP, the interfaces and the models together.

#include <string>

#include "serve/draw_plan.h"
#include "serve/flags.h"

namespace weft::server {

// Serves until SIGTERM or SIGINT. Returns the exit code: 0 if all requests were finished. Throws,
// before the port is open, for flags and models that do not work.
int serve(Flags flags, const DrawPlan& draw_plan, const std::string& version);

}  // namespace weft::server

#pragma once
// `weft serve`: puts HTTP, the interfaces and the models together.

#include <string>

#include "weft/page/draw_plan.h"
#include "weft/program/flags.h"
#include "weft/program/request_profile.h"

namespace weft::server {

// The parts that the program `weft` passes to the server.
struct ProgramParts {
  DrawPlan draw_plan;
  MakeProfile make_profile;
  std::string version;
};

// Serves until SIGTERM or SIGINT. Returns the exit code: 0 if all requests were finished. Throws,
// before the port is open, for flags and models that do not work.
int serve(Flags flags, const ProgramParts& parts);

}  // namespace weft::server

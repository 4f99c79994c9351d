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

// Serves until SIGTERM or SIGINT, or until a rank of a sharded model is lost. Returns the exit
// code: 0 if all requests were finished. Throws, before the port is open, for flags and models that
// do not work. A rank other than 0 computes for that; a process with --launch only starts another.
int serve(Flags flags, const ProgramParts& parts);

}  // namespace weft::server

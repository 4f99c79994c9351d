#pragma once
// The definition of a subcommand of the program `weft`. X.cpp defines the Subcommand kX;
// subcommands.h, which CMake makes from the list in tools/CMakeLists.txt, declares all of them.

#include "common/app.h"
#include "common/program.h"

namespace weft::tools {

// `run` gets the arguments from the subcommand's name on and returns the exit code. Errors leave it
// as exceptions: main prints them.
struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};

using cli::parse_flags;

}  // namespace weft::tools

#include "subcommands.h"

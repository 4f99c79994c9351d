#pragma once
// What every subcommand of the program `weft` shares.

#include <optional>

namespace CLI {
class App;
}

namespace weft::tools {

// `run` gets the arguments from the subcommand's name on and returns the exit code. Errors leave it
// as exceptions: main prints them.
struct Subcommand {
  const char* name;
  const char* summary;
  int (*run)(int argc, char** argv);
};

// Reads the flags. Returns the exit code where the program is to end at once: 0 after --help, 2 for
// wrong usage.
std::optional<int> parse_flags(CLI::App& app, int argc, char** argv);

int inspect(int argc, char** argv);
int logits(int argc, char** argv);
int tokenize(int argc, char** argv);

}  // namespace weft::tools

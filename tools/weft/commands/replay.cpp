#include "weft/program/replay.h"

#include <string>

#include "weft/subcommand.h"

namespace weft::tools {
namespace {

int replay(int argc, char** argv) {
  cli::App app(
      "Computes the answer to a request again that `weft serve --trace-requests` wrote to a file.\n"
      "Exits with 1 if the answer differs in more than ids, times and cached tokens.",
      "weft replay");
  std::string file;
  app.add_option("FILE", file, "the trace of a request").required();
  app.footer(
      "Examples:\n"
      "  weft serve --trace-requests traces\n"
      "  weft replay traces/req_5f1c0a7b.json");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  return server::replay(file, WEFT_VERSION);
}

}  // namespace

const Subcommand kReplay{"replay", "computes a traced request of weft serve again", replay};

}  // namespace weft::tools

#include "weft/program/repeat.h"

#include <string>

#include "subcommand.h"

namespace weft::tools {
namespace {

int repeat(int argc, char** argv) {
  cli::App app(
      "Computes the answer to a request again that `weft serve --record-requests` wrote to a "
      "file.\n"
      "Exits with 1 if the answer differs in more than ids, times and cached tokens.",
      "weft repeat");
  std::string file;
  app.add_option("FILE", file, "the record of a request").required();
  app.footer(
      "Examples:\n"
      "  weft serve --record-requests records\n"
      "  weft repeat records/req_5f1c0a7b.json");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  return server::repeat(file, WEFT_VERSION);
}

}  // namespace

const Subcommand kRepeat{"repeat", "computes a recorded request of weft serve again", repeat};

}  // namespace weft::tools

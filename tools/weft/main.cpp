#include <cstring>
#include <iostream>
#include <string>

#include "common/terminal_output.h"
#include "subcommand.h"
#include "version.h"

namespace weft::tools {
namespace {

void print_usage(std::ostream& out) {
  out << "Usage: weft SUBCOMMAND [options]\n\nSubcommands (weft SUBCOMMAND --help shows its "
         "options):\n";
  for (const Subcommand* subcommand : kSubcommands) {
    out << "  " << subcommand->name << std::string(17 - std::strlen(subcommand->name), ' ')
        << subcommand->summary << '\n';
  }
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  using namespace weft::tools;
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help" || name == "--version") {
    return weft::cli::run_program("weft", [&] {
      name == "--version" ? void(std::cout << version_text() << '\n') : print_usage(std::cout);
      return 0;
    });
  }
  for (const Subcommand* subcommand : kSubcommands) {
    if (name == subcommand->name)
      return weft::cli::run_program("weft " + name,
                                    [&] { return subcommand->run(argc - 1, argv + 1); });
  }
  weft::cli::guard_terminals();
  if (!name.empty()) std::cerr << "weft: unknown subcommand '" << name << "'\n\n";
  print_usage(std::cerr);
  return weft::cli::kWrongUsage;
}

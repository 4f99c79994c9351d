#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include "subcommand.h"

namespace weft::tools {
namespace {

constexpr int kWrongUsage = 2;

constexpr Subcommand kSubcommands[] = {
    {"inspect", "header, metadata, tensors, types and bytes of a GGUF file", inspect},
    {"logits", "logits of a list of token ids, as a .npy file", logits},
    {"tokenize", "text on stdin, token ids on stdout", tokenize},
};

void print_usage(std::ostream& out) {
  out << "Usage: weft SUBCOMMAND [options]\n\nSubcommands (weft SUBCOMMAND --help tells more):\n";
  for (const Subcommand& subcommand : kSubcommands) {
    out << "  " << subcommand.name << std::string(14 - std::strlen(subcommand.name), ' ')
        << subcommand.summary << '\n';
  }
}

int run(const Subcommand& subcommand, int argc, char** argv) {
  try {
    const int code = subcommand.run(argc, argv);
    std::cout.flush();
    if (!std::cout || std::fflush(stdout) != 0) {
      if (errno == EPIPE) return 0;  // the reader has seen enough
      std::cerr << "weft " << subcommand.name << ": cannot write the output\n";
      return 1;
    }
    return code;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << "weft " << subcommand.name << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace

std::optional<int> parse_flags(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
}

}  // namespace weft::tools

int main(int argc, char** argv) {
  using namespace weft::tools;
  // A closed pipe is an error of the write, not the end of the process by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(std::cout);
    return 0;
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (name == subcommand.name) return run(subcommand, argc - 1, argv + 1);
  }
  if (!name.empty()) std::cerr << "weft: there is no subcommand '" << name << "'\n\n";
  print_usage(std::cerr);
  return kWrongUsage;
}

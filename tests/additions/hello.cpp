#include <iostream>
#include <string>

#include "subcommand.h"

namespace weft::tools {
namespace {

int hello(int argc, char** argv) {
  cli::App app("Greets.", "weft hello");
  std::string name = "world";
  app.add_option("--name", name, "who is greeted").type_name("NAME");
  app.footer("Example:\n  weft hello --name reader");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  std::cout << "Hello, " << name << '\n';
  return 0;
}

}  // namespace

const Subcommand kHello{"hello", "greets", hello};

}  // namespace weft::tools

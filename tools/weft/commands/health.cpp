#include <chrono>
#include <iostream>
#include <thread>

#include "weft/base/error.h"
#include "weft/http/ask.h"

#include "subcommand.h"

namespace weft::tools {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

int health(int argc, char** argv) {
  cli::App app(
      "Asks a server whether it is ready, and prints its answer.\n"
      "Exits with 0 if it is, with 1 while it loads or drains, or if none answers.",
      "weft health");
  std::string address = "http://127.0.0.1:8080/health";
  int patience = 10, wait = 0;
  app.add_option("ADDRESS", address, "http://HOST:PORT/health, or unix:SOCKET");
  app.add_option("--timeout", patience, "seconds that the answer may take").range(1, 3600);
  app.add_option("--wait", wait, "seconds to go on asking until it is ready").range(0, 86400);
  app.footer(
      "Examples:\n"
      "  weft health\n"
      "  weft health --wait 60 http://127.0.0.1:9000/health && echo ready");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto end = steady_clock::now() + seconds(wait);
  for (;;) {
    const bool last = steady_clock::now() >= end;
    try {
      const http::Reply reply = http::ask(address, seconds(patience));
      if (reply.status == 200 || last) {
        std::cout << reply.body << '\n';
        return reply.status == 200 ? 0 : 1;
      }
    } catch (const Error&) {
      if (last) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

const Subcommand kHealth{"health", "asks a server whether it is ready", health};

}  // namespace weft::tools

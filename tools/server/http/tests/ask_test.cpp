// Requests to a running server, at addresses of all kinds.
#include "weft/http/ask.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"
#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;
using std::chrono::milliseconds;

namespace {

constexpr auto kTenSeconds = std::chrono::seconds(10);

Handler answers(const Reply& reply) {
  return [reply](const std::shared_ptr<Exchange>& exchange) {
    exchange->begin(reply);
    exchange->end();
  };
}

}  // namespace

TEST_CASE("ask: the answer of a server") {
  RunningServer server(answers({.status = 503, .body = "loading"}));
  const std::string port = std::to_string(server.port());
  for (const char* rest : {"", "/", "/health?a=b"}) {
    const Reply asked = ask("http://127.0.0.1:" + port + rest, kTenSeconds);
    CHECK(asked.status == 503);
    CHECK(asked.content_type == "application/json");
    CHECK(asked.body == "loading");
  }
  const weft::test::TempFolder folder;
  RunningServer local(answers({.body = "ready"}), {.host = folder / "a.sock"});
  CHECK(ask("unix:" + (folder / "a.sock").string(), kTenSeconds).body == "ready");
}

TEST_CASE("ask: addresses that cannot be") {
  for (const char* address : {"", "health", "https://127.0.0.1/", "http://", "http://:80/",
                              "http://127.0.0.1:/", "http://[::1]:"}) {
    INFO(address);
    CHECK_THROWS_AS(ask(address, kTenSeconds), weft::ValueError);
  }
}

TEST_CASE("ask: a server that is not there, says nothing or too much") {
  std::string gone;
  {
    const RunningServer server(answers({}));
    gone = "http://127.0.0.1:" + std::to_string(server.port());
  }
  CHECK_THROWS_AS(ask(gone, kTenSeconds), weft::IoError);
  CHECK_THROWS_AS(ask("unix:/no/such/folder/a.sock", kTenSeconds), weft::IoError);
  CHECK_THROWS_AS(ask("unix:/" + std::string(200, 'a'), kTenSeconds), weft::Error);

  std::shared_ptr<Exchange> held;
  RunningServer silent([&](const std::shared_ptr<Exchange>& exchange) { held = exchange; });
  CHECK_THROWS_AS(ask("http://127.0.0.1:" + std::to_string(silent.port()), milliseconds(50)),
                  weft::IoError);
  RunningServer endless(answers({.body = std::string((1 << 20) + 1, 'a')}));
  CHECK_THROWS_AS(ask("http://127.0.0.1:" + std::to_string(endless.port()), kTenSeconds),
                  weft::IoError);
}

// A server as its clients see it: framing, order, refusals.
#include "weft/http/server.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/base/ledger.h"

#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;

TEST_CASE("requests follow each other on a connection") {
  RunningServer server;
  Client client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send(request("POST", "/a?b=c", "hello"));
    const Received r = client.receive();
    CHECK(r.status == 200);
    CHECK(r.body == "POST /a b=c: hello");
    CHECK(r.header("connection").empty());
    CHECK(r.header("content-type") == "application/json");
    CHECK(!r.header("date").empty());
    CHECK(r.header("x-content-type-options") == "nosniff");
  }
  client.send(
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  CHECK(client.receive().body == "POST /c : abc");
  client.send(request("GET", "/d", "", "Connection: close\r\n"));
  const Received last = client.receive();
  CHECK(last.header("connection") == "close");
  CHECK(client.at_end());
  CHECK(server->counters().requests == 5);
}

TEST_CASE("requests may come byte by byte") {
  RunningServer server;
  Client client(server.port());
  for (const char c : request("POST", "/", "hello")) client.send(std::string_view(&c, 1));
  CHECK(client.receive().body == "POST / : hello");
}

TEST_CASE("pipelined requests are answered in order") {
  // The first answers take longest.
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    std::thread([exchange] {
      const int delay = exchange->request().path == "/0" ? 30 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      exchange->reply({.body = exchange->request().path});
    }).detach();
  });
  Client client(server.port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += request("POST", "/" + std::to_string(i), "body");
  client.send(all);
  for (int i = 0; i < 50; ++i) CHECK(client.receive().body == "/" + std::to_string(i));
}

TEST_CASE("each answer has its own id") {
  RunningServer server;
  Client client(server.port());
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    client.send(request("GET", "/"));
    const Received r = client.receive();
    CHECK(r.header("x-request-id") == r.header("request-id"));
    CHECK(r.header("x-request-id").size() > 10);
    ids.emplace(r.header("x-request-id"));
  }
  client.send("bad\r\n\r\n");
  ids.emplace(client.receive().header("x-request-id"));
  CHECK(ids.size() == 4);
}

TEST_CASE("HTTP/1.0 has no chunks, and the connection closes") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    exchange->begin({.body = "a"});
    exchange->write("b");
    exchange->end();
  });
  Client client(server.port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Received r = client.receive();
  CHECK(r.status == 200);
  CHECK(r.header("transfer-encoding").empty());
  CHECK(r.header("content-length").empty());
  CHECK(r.body == "ab");
}

TEST_CASE("HEAD has no body, whole or in pieces") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/whole") return exchange->reply({.body = "hello"});
    exchange->begin({.body = "he"});
    exchange->write("llo");
    CHECK(exchange->unsent() <= 5);
    exchange->end();
  });
  Client client(server.port());
  client.send(request("HEAD", "/whole"));
  CHECK(client.receive(true).header("content-length") == "5");
  client.send(request("HEAD", "/pieces"));
  CHECK(client.receive(true).status == 200);
  client.send(request("GET", "/whole"));
  CHECK(client.receive().body == "hello");
}

TEST_CASE("answers without a body") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    exchange->reply({.status = 204, .body = "none of this is sent"});
  });
  Client client(server.port());
  client.send(request("GET", "/") + request("GET", "/"));
  const Received r = client.receive();
  CHECK(r.status == 204);
  CHECK(r.header("content-length").empty());
  CHECK(client.receive().status == 204);
}

TEST_CASE("headers of answers cannot be split") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    exchange->reply({.headers = {{"A", "b\r\nC: d"}}});
  });
  Client client(server.port());
  client.send(request("GET", "/"));
  const Received r = client.receive();
  CHECK(r.header("a") == "b  C: d");
  CHECK(r.header("c").empty());
}

TEST_CASE("Expect: 100-continue") {
  Hooks hooks;
  hooks.gate = [](const RequestHead& head) -> std::optional<Reply> {
    if (head.path == "/no") return Reply{.status = 401};
    return std::nullopt;
  };
  RunningServer server(echo, {}, hooks);
  const std::string expect = "Host: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
  Client client(server.port());
  client.send("POST /yes HTTP/1.1\r\n" + expect);
  CHECK(client.receive().status == 100);
  client.send("ab");
  CHECK(client.receive().body == "POST /yes : ab");
  client.send("POST /yes HTTP/1.1\r\n" + expect + "cd");  // sent without waiting
  CHECK(client.receive().body == "POST /yes : cd");
  client.send("POST /no HTTP/1.1\r\n" + expect);
  CHECK(client.receive().status == 401);
  CHECK(client.at_end());
  Client old(server.port());
  old.send("POST /yes HTTP/1.0\r\n" + expect + "ab");
  CHECK(old.receive().body == "POST /yes : ab");
}

TEST_CASE("a gate answers before the body") {
  Hooks hooks;
  hooks.gate = [](const RequestHead& head) -> std::optional<Reply> {
    if (head.path == "/no") return Reply{.status = 404, .body = head.method};
    return std::nullopt;
  };
  RunningServer server(echo, {}, hooks);
  SUBCASE("a small body is dropped, and the connection lives") {
    Client client(server.port());
    client.send("POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    CHECK(client.receive().body == "POST");
    client.send("GET /");
    client.send(request("POST", "/yes", "a"));
    CHECK(client.receive().body == "POST /yes : a");
    client.send(request("POST", "/no", "12345") + request("GET", "/yes"));
    CHECK(client.receive().status == 404);
    CHECK(client.receive().body == "GET /yes : ");
  }
  SUBCASE("a refused body is not read") {
    hooks.gate = [](const RequestHead&) { return Reply{.status = 413}; };
    RunningServer strict(echo, {}, hooks);
    Client client(strict.port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n1");
    const Received r = client.receive();
    CHECK(r.status == 413);
    CHECK(r.header("connection") == "close");
    CHECK(client.at_end());
  }
  SUBCASE("a large or a chunked one is not read") {
    for (const char* framing : {"Content-Length: 20000000", "Transfer-Encoding: chunked"}) {
      Client client(server.port());
      client.send("POST /no HTTP/1.1\r\nHost: x\r\n" + std::string(framing) + "\r\n\r\n");
      CHECK(client.receive().status == 404);
      CHECK(client.at_end());
    }
  }
}

TEST_CASE("wrong framing closes the connection and never begins a second request") {
  RunningServer server;
  const std::string hidden = request("GET", "/hidden");
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const std::string& bad : std::initializer_list<std::string>{
           post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: cow\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\nHost: x\n\n", "\x16\x03\x01\x02", "hello\r\n\r\n"}) {
    CAPTURE(bad);
    Client client(server.port());
    client.send(bad + hidden);
    const Received r = client.receive();
    CHECK(r.status == 400);
    CHECK(r.header("connection") == "close");
    CHECK(client.at_end());
  }
  for (const LogLine& line : server.log()) CHECK(line.status == 400);
}

TEST_CASE("limits of requests") {
  RunningServer server(echo, {.max_body_bytes = 1000});
  const auto status = [&](const std::string& bytes) {
    Client client(server.port());
    client.send(bytes);
    return client.receive().status;
  };
  CHECK(status("GET /" + std::string(20000, 'a')) == 414);
  CHECK(status("GET / HTTP/1.1\r\nA: " + std::string(70000, 'a')) == 431);
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 100; ++i) many += "A: b\r\n";
  CHECK(status(many + "\r\n") == 431);
  CHECK(status("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n") == 413);
  const std::string chunk = "3e8\r\n" + std::string(1000, 'a') + "\r\n";
  CHECK(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk +
               chunk) == 413);
  CHECK(status(request("POST", "/", std::string(1000, 'a'))) == 200);
}

TEST_CASE("bodies count until their requests are answered") {
  std::mutex mutex;
  std::shared_ptr<Exchange> kept;
  RunningServer server(
      [&](std::shared_ptr<Exchange> exchange) {
        if (exchange->request().path != "/keep") return exchange->reply({.body = "x"});
        const std::lock_guard lock(mutex);
        kept = std::move(exchange);
      },
      {.max_bodies_bytes = 10000});
  const auto status = [&] {
    Client client(server.port());
    client.send(request("POST", "/", std::string(8000, 'b')));
    return client.receive().status;
  };
  CHECK(status() == 200);
  Client waits(server.port());
  waits.send(request("POST", "/keep", std::string(8000, 'a')));
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return kept != nullptr;
  }));
  CHECK(status() == 503);
  kept->reply({.body = "done"});
  CHECK(waits.receive().status == 200);
  CHECK(eventually([&] { return status() == 200; }));
}

TEST_CASE("bodies that are being received share a limit") {
  RunningServer server(echo, {.max_bodies_bytes = 10000});
  Client one(server.port()), two(server.port());
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n";
  one.send(head + std::string(8000, 'a'));
  CHECK(eventually([&] {  // until the bytes of the first one are counted
    Client probe(server.port());
    probe.send(head + std::string(8000, 'b'));
    probe.send(std::string(1000, 'b'));
    const Received r = probe.receive();
    return r.status == 503 && r.header("retry-after") == "1";
  }));
  one.send(std::string(1000, 'a'));
  CHECK(one.receive().status == 200);
  two.send(head + std::string(9000, 'b'));
  CHECK(two.receive().status == 200);
}

TEST_CASE("bodies take their memory from the ledger") {
  RunningServer server(echo);
  weft::process_ledger().set_limit(weft::process_ledger().used() + 20'000);
  const auto receive = [&](std::size_t n) {
    Client client(server.port());
    client.send(request("POST", "/", std::string(n, 'b')));
    return client.receive();
  };
  CHECK(receive(9000).status == 200);
  const Received refused = receive(25'000);
  CHECK(refused.status == 503);
  CHECK(refused.body.find("for bodies: ") != std::string::npos);
  CHECK(refused.body.find(" of 19.5 KiB are taken") != std::string::npos);
  weft::process_ledger().set_limit(std::numeric_limits<std::int64_t>::max());
  CHECK(receive(25'000).status == 200);
  CHECK(eventually([] { return weft::process_ledger().used() == 0; }));
}

TEST_CASE("paths are below the prefix") {
  RunningServer server(echo, {.prefix = "/llm"});
  Client client(server.port());
  const auto get = [&](const char* path) {
    client.send(request("GET", path));
    return client.receive();
  };
  CHECK(get("/llm/v1").body == "GET /v1 : ");
  CHECK(get("/llm").body == "GET / : ");
  CHECK(get("/llmx").status == 404);
  CHECK(get("/").status == 404);
  CHECK(get("/llm/v1").status == 200);
  CHECK_THROWS_AS(RunningServer(echo, {.prefix = "llm"}), weft::ValueError);
  CHECK_THROWS_AS(RunningServer(echo, {.prefix = "/llm/"}), weft::ValueError);
}

TEST_CASE("an exchange that nobody answers is answered with 500") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/throws") throw std::runtime_error("no");
    if (exchange->request().path == "/begun") exchange->begin({.body = "a"});
  });
  Client client(server.port());
  for (const char* path : {"/throws", "/dropped"}) {
    client.send(request("GET", path));
    const Received r = client.receive();
    CHECK(r.status == 500);
    CHECK(r.body == "server_error: internal error");
  }
  // A client must see that the answer is truncated.
  client.send(request("GET", "/begun"));
  CHECK(client.receive().status == 0);
}

TEST_CASE("headers for every answer, and the log") {
  Hooks hooks;
  hooks.answer_headers = [](const RequestHead& head) {
    return Headers{{"Of", head.path}, {"From", head.peer}};
  };
  RunningServer server(echo, {}, hooks);
  Client client(server.port());
  client.send(request("POST", "/a", "12"));
  const Received r = client.receive();
  CHECK(r.header("of") == "/a");
  CHECK(r.header("from") == "127.0.0.1");
  client.send("GET /b HTTP/1.1\r\nA : b\r\n\r\n");
  CHECK(client.receive().header("of") == "/b");
  CHECK(client.at_end());
  CHECK(eventually([&] { return server.log().size() == 2; }));
  const auto log = server.log();
  CHECK(log[0].method == "POST");
  CHECK(log[0].path == "/a");
  CHECK(log[0].status == 200);
  CHECK(log[0].n_bytes == r.body.size());
  CHECK(log[1].status == 400);
}

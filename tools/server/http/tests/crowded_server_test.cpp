// Clients that take their time: deadlines, and which connection makes room for a new one.
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "weft/base/error.h"

#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;

namespace {

constexpr auto kShort = std::chrono::milliseconds(100);
const std::string kHalfHead = "GET / HTTP/1.1\r\nHo";
const std::string kHalfBody = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n{";

bool answers(int port, std::uint32_t from = 1) {
  Client client(port, 0, from);
  client.send(request("GET", "/"));
  return client.receive().status == 200;
}

// Answers /wait when `go` is set, and everything else at once.
struct Waiting {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  Handler handler() {
    return [gone = gone](const std::shared_ptr<Exchange>& exchange) {
      if (exchange->request().path != "/wait") return echo(exchange);
      std::thread([gone, exchange] {
        gone.wait();
        exchange->reply({.body = "computed"});
      }).detach();
    };
  }
};

void await_connections(RunningServer& server, std::size_t n) {
  REQUIRE(eventually([&] { return server->counters().connections == n; }));
}

}  // namespace

TEST_CASE("a header must be complete in time, idle connections may be silent") {
  RunningServer server(echo, {.header_timeout = kShort});
  Client idle(server.port()), half(server.port()), ahead(server.port());
  half.send(kHalfHead);
  ahead.send(request("GET", "/") + kHalfHead);
  CHECK(half.receive().status == 408);
  CHECK(ahead.receive().status == 200);
  CHECK(ahead.receive().status == 408);
  idle.send(request("GET", "/"));
  CHECK(idle.receive().status == 200);
}

TEST_CASE("a body that is too slow is refused") {
  RunningServer server(echo, {.body_grace = kShort});
  Client client(server.port());
  client.send(kHalfBody);
  CHECK(client.receive().status == 408);
  CHECK(client.at_end());
  Client asks(server.port());
  asks.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  CHECK(asks.receive().status == 100);
  CHECK(asks.receive().status == 408);
  CHECK_THROWS_AS(RunningServer(echo, {.min_body_rate = 0}), weft::ValueError);
}

TEST_CASE("the body of a refused request must come in time, too") {
  Hooks hooks;
  hooks.gate = [](const RequestHead& head) -> std::optional<Reply> {
    if (head.path == "/no") return Reply{.status = 404};
    return std::nullopt;
  };
  RunningServer server(echo, {.body_grace = kShort}, hooks);
  Client client(server.port()), complete(server.port());
  client.send("POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n1");
  CHECK(client.receive().status == 404);
  complete.send(request("POST", "/no", "12345"));
  CHECK(complete.receive().status == 404);
  CHECK(client.at_end());
  complete.send(request("GET", "/"));
  CHECK(complete.receive().status == 200);
}

TEST_CASE("a new connection takes the place of the one that waits for its client longest") {
  Waiting waiting;
  RunningServer server(waiting.handler(), {.max_connections = 4});
  Client busy(server.port());
  busy.send(request("GET", "/wait"));
  REQUIRE(eventually([&] { return server->counters().answering == 1; }));
  Client body(server.port());
  body.send(kHalfBody);
  REQUIRE(eventually([&] { return server->counters().answering == 2; }));
  Client silent(server.port());
  await_connections(server, 3);
  Client idle(server.port());
  idle.send(request("GET", "/"));
  CHECK(idle.receive().status == 200);
  CHECK(answers(server.port()));
  CHECK(body.at_end());
  CHECK(answers(server.port()));
  Client next(server.port()), last(server.port());
  CHECK(silent.at_end());
  CHECK(eventually([&] { return answers(server.port()); }));
  waiting.go.set_value();
  CHECK(busy.receive().body == "computed");
}

TEST_CASE("requests that are computed are never cut for a new connection") {
  Waiting waiting;
  RunningServer server(waiting.handler(), {.max_connections = 2});
  Client one(server.port()), two(server.port());
  for (Client* client : {&one, &two}) client->send(request("GET", "/wait"));
  REQUIRE(eventually([&] { return server->counters().answering == 2; }));
  CHECK(!answers(server.port()));
  waiting.go.set_value();
  CHECK(one.receive().body == "computed");
  CHECK(two.receive().body == "computed");
}

TEST_CASE("a client that does not read its answer makes room") {
  RunningServer server(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->reply(
            {.body = std::string(exchange->request().path == "/large" ? 64 << 20 : 1, 'a')});
      },
      {.max_connections = 1});
  Client slow(server.port(), 4096);
  slow.send(request("GET", "/large"));
  REQUIRE(slow.until("\r\n\r\n"));
  CHECK(eventually([&] { return answers(server.port()); }));
}

TEST_CASE("the address with most connections makes room first") {
  RunningServer server(echo, {.max_connections = 8});
  Client other(server.port(), 0, 2);
  await_connections(server, 1);
  std::vector<std::unique_ptr<Client>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(std::make_unique<Client>(server.port()));
    many.back()->send(kHalfBody);
  }
  CHECK(many.front()->at_end());
  CHECK(answers(server.port(), 3));
  other.send(request("GET", "/"));
  CHECK(other.receive().status == 200);
}

TEST_CASE("without such an address the longest wait counts") {
  RunningServer server(echo, {.max_connections = 8});
  Client first(server.port(), 0, 2);
  await_connections(server, 1);
  std::vector<std::unique_ptr<Client>> others;
  for (std::uint32_t from = 3; from < 8; ++from)
    others.push_back(std::make_unique<Client>(server.port(), 0, from));
  await_connections(server, 6);
  Client pair_one(server.port(), 0, 8), pair_two(server.port(), 0, 8);
  await_connections(server, 8);
  CHECK(answers(server.port(), 9));
  CHECK(first.at_end());
  for (Client* client : {&pair_one, &pair_two}) {
    client->send(request("GET", "/"));
    CHECK(client->receive().status == 200);
  }
}

TEST_CASE("half requests do not use up the file descriptors") {
  RunningServer server;
  // The clients' own sockets come first: both ends are in this process.
  std::vector<int> sockets(80);
  for (int& socket : sockets) socket = ::socket(AF_INET, SOCK_STREAM, 0);
  rlimit before = {};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(sockets.back()) + 40;
  ::setrlimit(RLIMIT_NOFILE, &low);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const int socket : sockets) {
    CHECK(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    CHECK(::send(socket, kHalfBody.data(), kHalfBody.size(), MSG_NOSIGNAL) > 0);
  }
  CHECK(eventually([&] { return server->counters().requests == 80; }));
  int file = -1;  // files still have descriptors, once what made room is closed
  CHECK(eventually([&] { return (file = ::dup(0)) >= 0; }));
  ::close(file);
  CHECK(answers(server.port()));
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const int socket : sockets) ::close(socket);
}

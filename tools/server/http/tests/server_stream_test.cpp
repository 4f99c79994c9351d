// Answers in pieces, slow and absent readers, clients that leave.
#include <atomic>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;

namespace {

// Passes exchanges to the test, which answers them.
class Taken {
 public:
  Handler handler() {
    return [this](const std::shared_ptr<Exchange>& exchange) {
      const std::lock_guard lock(mutex_);
      taken_.push_back(exchange);
    };
  }
  std::shared_ptr<Exchange> next() {
    std::shared_ptr<Exchange> exchange;
    eventually([&] {
      const std::lock_guard lock(mutex_);
      if (taken_.empty()) return false;
      exchange = taken_.front();
      taken_.erase(taken_.begin());
      return true;
    });
    REQUIRE(exchange);
    return exchange;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> taken_;
};

}  // namespace

TEST_CASE("a stream arrives piece by piece, and the connection lives on") {
  Taken taken;
  RunningServer server(taken.handler());
  Client client(server.port());
  client.send(request("POST", "/", "a"));
  const auto exchange = taken.next();
  CHECK(exchange->request().body == "a");
  exchange->begin({.content_type = "text/event-stream", .headers = {{"A", "b"}}});
  const auto head = client.until("\r\n\r\n");
  REQUIRE(head);
  for (const char* line : {"Transfer-Encoding: chunked", "Cache-Control: no-cache",
                           "X-Accel-Buffering: no", "Content-Type: text/event-stream", "A: b"})
    CHECK(head->find(line) != std::string::npos);
  for (const std::string piece : {"data: 1\n\n", "data: 2\n\n"}) {
    exchange->write(piece);
    CHECK(client.until("\r\n") == "9\r\n");
    CHECK(client.until("\r\n") == piece + "\r\n");
    CHECK(eventually([&] { return exchange->unsent() == 0; }));
  }
  exchange->end();
  CHECK(client.until("\r\n\r\n") == "0\r\n\r\n");
  client.send(request("GET", "/"));
  taken.next()->reply({.body = "next"});
  CHECK(client.receive().body == "next");
}

TEST_CASE("pieces of many threads' streams are not mixed") {
  RunningServer server([](const std::shared_ptr<Exchange>& exchange) {
    std::thread([exchange] {
      exchange->begin({});
      for (int i = 0; i < 2000; ++i) exchange->write(exchange->request().path + ",");
      exchange->end();
    }).detach();
  });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send(request("GET", "/" + std::to_string(i)));
  }
  for (int i = 0; i < 20; ++i) {
    std::string want;
    for (int k = 0; k < 2000; ++k) want += "/" + std::to_string(i) + ",";
    CHECK(clients[static_cast<std::size_t>(i)]->receive().body == want);
  }
}

TEST_CASE("a reader that stops holds up its own stream only, and unsent() shows it") {
  Taken taken;
  RunningServer server(taken.handler());
  Client slow(server.port(), 4096);
  slow.send(request("GET", "/slow"));
  const auto stream = taken.next();
  stream->begin({});
  const std::string piece(1 << 16, 'x');
  std::size_t n = 0;
  while (stream->unsent() < std::size_t{1} << 20 && n < 1000) {
    stream->write(piece);
    ++n;
  }
  CHECK(stream->unsent() >= std::size_t{1} << 20);
  Client other(server.port());
  other.send(request("GET", "/other"));
  taken.next()->reply({.body = "fast"});
  CHECK(other.receive().body == "fast");
  stream->end();
  CHECK(slow.receive().body.size() == n * piece.size());
  CHECK(eventually([&] { return stream->unsent() == 0; }));
}

TEST_CASE("a reader that stops for longer than the timeout has left") {
  Taken taken;
  std::promise<void> left;
  RunningServer server(taken.handler(), {.timeout = std::chrono::milliseconds(100)});
  Client slow(server.port(), 4096);
  slow.send(request("GET", "/slow"));
  const auto stream = taken.next();
  stream->on_client_left([&] { left.set_value(); });
  stream->begin({});
  stream->write(std::string(std::size_t{64} << 20, 'x'));
  stream->end();
  CHECK(eventually([&] { return server->counters().connections == 0; }));
  CHECK(stream->unsent() == 0);
}

TEST_CASE("a client that leaves is noticed while its answer is computed") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Taken taken;
    std::atomic<int> n_left = 0;
    RunningServer server(taken.handler());
    Client client(server.port());
    client.send(request("GET", "/"));
    const auto exchange = taken.next();
    if (begun) exchange->begin({.body = "a"});
    exchange->on_client_left([&] { ++n_left; });
    client.close();
    CHECK(eventually([&] { return n_left == 1; }));
    CHECK(eventually([&] { return server->counters().connections == 0; }));
    // Nothing happens, in any order.
    exchange->write("dropped");
    exchange->end();
    CHECK(exchange->unsent() == 0);
    CHECK(n_left == 1);
    exchange->on_client_left([&] { ++n_left; });  // it has already left
    CHECK(n_left == 2);
    REQUIRE(eventually([&] { return server.log().size() == 1; }));
    CHECK(server.log()[0].status == (begun ? 200 : 499));
  }
}

TEST_CASE("a request whose client leaves within its body is logged by its name") {
  RunningServer server;
  Client client(server.port());
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  REQUIRE(eventually([&] { return server->counters().answering == 1; }));
  client.close();
  REQUIRE(eventually([&] { return server.log().size() == 1; }));
  CHECK(server.log()[0].method == "POST");
  CHECK(server.log()[0].path == "/a");
  CHECK(server.log()[0].status == 499);
}

// A request that waits for its answer, behind which the client sent more than is read ahead.
struct SentAhead {
  SentAhead() {
    client.send(request("GET", "/"));
    exchange = taken.next();
    exchange->on_client_left([this] { left = true; });
    client.send(std::string(100000, 'x'));
  }

  std::atomic<bool> left = false;
  Taken taken;
  RunningServer server{taken.handler()};
  Client client{server.port()};
  std::shared_ptr<Exchange> exchange;
};

TEST_CASE("a client that leaves is noticed behind pipelined input") {
  SentAhead ahead;
  CHECK(!ahead.left);
  ahead.client.close();
  CHECK(eventually([&] { return ahead.left.load(); }));
}

TEST_CASE("a client that leaves a stream is noticed behind pipelined input") {
  SentAhead ahead;
  ahead.exchange->begin({.body = "a", .content_type = "text/event-stream"});
  CHECK(ahead.client.until("a\r\n"));
  for (int i = 0; i < 20; ++i) {  // each is sent at once, also while the client is watched
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ahead.exchange->write("b");
    CHECK(ahead.client.until("b\r\n"));
  }
  ahead.client.close();
  CHECK(eventually([&] { return ahead.left.load(); }));
}

TEST_CASE("a complete answer reaches a client that has closed its direction") {
  Taken taken;
  std::atomic<bool> left = false;
  RunningServer server(taken.handler());
  Client client(server.port(), 4096);
  client.send(request("GET", "/"));
  const auto exchange = taken.next();
  exchange->on_client_left([&] { left = true; });
  exchange->reply({.body = std::string(std::size_t{8} << 20, 'x')});
  client.end_sending();
  CHECK(client.receive().body.size() == std::size_t{8} << 20);
  CHECK(!left);
}

TEST_CASE("an answer that takes time reaches a client that has closed its direction") {
  for (const bool streamed : {false, true}) {
    CAPTURE(streamed);
    Taken taken;
    std::atomic<bool> left = false;
    RunningServer server(taken.handler());
    Client client(server.port());
    client.send(request("GET", "/"));
    client.end_sending();
    const auto exchange = taken.next();
    exchange->on_client_left([&] { left = true; });
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
    wait();
    if (streamed) {
      exchange->begin({.body = "half ", .content_type = "text/event-stream"});
      wait();
      exchange->write("closed");
      exchange->end();
    } else {
      exchange->reply({.body = "half closed"});
    }
    Received received = client.receive();
    while (received.status == 100) received = client.receive();
    CHECK(received.status == 200);
    std::erase_if(received.body, [](char c) { return c == ':' || c == '\n'; });  // comments
    CHECK(received.body == "half closed");
    CHECK(!left);
  }
}

TEST_CASE(
    "answers without bytes that clients skip reach clients that have closed their direction") {
  for (const bool streamed : {false, true}) {
    for (const char* version : {"1.0", "1.1"}) {
      CAPTURE(streamed);
      CAPTURE(version);
      Taken taken;
      std::atomic<bool> left = false;
      RunningServer server(taken.handler());
      Client client(server.port());
      client.send(std::string("GET / HTTP/") + version + "\r\nHost: a\r\n\r\n");
      client.end_sending();
      const auto exchange = taken.next();
      exchange->on_client_left([&] { left = true; });
      const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
      wait();
      if (streamed) {
        exchange->begin({.body = "{}\n", .content_type = "application/x-ndjson"});
        wait();
        exchange->write("{}\n");
        exchange->end();
      } else {
        exchange->reply({.body = "{}\n{}\n"});
      }
      const bool knows_interim = version == std::string("1.1");
      Received received = client.receive();
      while (knows_interim && received.status == 100) received = client.receive();
      CHECK(received.status == 200);
      CHECK(received.body == "{}\n{}\n");
      CHECK(!left);
    }
  }
}

TEST_CASE("a client that has left is noticed by the write that fails") {
  Taken taken;
  std::atomic<bool> left = false;
  RunningServer server(taken.handler());
  std::shared_ptr<Exchange> exchange;
  {
    Client client(server.port());
    client.send(request("GET", "/"));
    exchange = taken.next();
    exchange->on_client_left([&] { left = true; });
    exchange->begin({.body = "{}\n", .content_type = "application/x-ndjson"});
  }
  CHECK(eventually([&] {
    exchange->write("{}\n");
    return left.load();
  }));
}

TEST_CASE("nobody has left after the end of an answer") {
  Taken taken;
  std::atomic<bool> left = false;
  RunningServer server(taken.handler());
  {
    Client client(server.port());
    client.send(request("GET", "/"));
    const auto exchange = taken.next();
    exchange->on_client_left([&] { left = true; });
    exchange->reply({});
    CHECK(client.receive().status == 200);
  }
  CHECK(eventually([&] { return server->counters().connections == 0; }));
  CHECK(!left);
}

TEST_CASE("an exchange may outlive its server") {
  Taken taken;
  std::shared_ptr<Exchange> exchange;
  std::atomic<bool> left = false;
  {
    RunningServer server(taken.handler());
    Client client(server.port());
    client.send(request("GET", "/"));
    exchange = taken.next();
    exchange->on_client_left([&] { left = true; });
  }
  CHECK(left);
  exchange->begin({});
  exchange->write("a");
  exchange->end();
}

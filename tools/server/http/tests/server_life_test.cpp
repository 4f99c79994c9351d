// How a server begins and ends, timeouts, Unix sockets, TLS.
#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"
#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;
using weft::test::TempFolder;

namespace {

constexpr auto kShort = std::chrono::milliseconds(100);

// Answers after `go`.
struct Held {
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  Handler handler() {
    return [gone = gone](const std::shared_ptr<Exchange>& exchange) {
      std::thread([gone, exchange] {
        exchange->begin({.body = "a"});
        gone.wait();
        exchange->write("b");
        exchange->end();
      }).detach();
    };
  }
};

}  // namespace

TEST_CASE("a port in use") {
  RunningServer first;
  ServerOptions options{.port = first.port()};
  CHECK_THROWS_WITH_AS(
      Server(options, {.handler = echo, .refuse = plain_refusal}),
      ("cannot listen on 127.0.0.1:" + std::to_string(first.port()) + ": Address already in use")
          .c_str(),
      weft::IoError);
}

TEST_CASE("hosts and ports that cannot be") {
  const auto make = [](const ServerOptions& options) {
    Server(options, {.handler = echo, .refuse = plain_refusal});
  };
  CHECK_THROWS_AS(make({.port = -1}), weft::ValueError);
  CHECK_THROWS_AS(make({.port = 65536}), weft::ValueError);
  CHECK_THROWS_AS(make({.host = "no such host.invalid", .port = 0}), weft::ValueError);
  CHECK_THROWS_AS(make({.host = "192.0.2.1", .port = 0}), weft::IoError);
  CHECK_THROWS_AS(make({.host = "/no/such/folder/a.sock"}), weft::IoError);
  CHECK_THROWS_AS(make({.host = "/" + std::string(200, 'a') + ".sock"}), weft::ValueError);
  CHECK_THROWS_AS(make({.port = 0, .cert_file = "a"}), weft::ValueError);
  CHECK_THROWS_AS(make({.port = 0, .cert_file = "/no/cert", .key_file = "/no/key"}), weft::IoError);
  CHECK_THROWS_AS(make({.listening_sockets = {0}}), weft::ValueError);
}

TEST_CASE("the address of a server") {
  RunningServer server;
  CHECK(server->url() == "http://127.0.0.1:" + std::to_string(server.port()));
  RunningServer local(echo, {.host = "localhost", .port = 0});
  Client client(local.port());
  client.send(request("GET", "/"));
  CHECK(client.receive().status == 200);
}

TEST_CASE("Unix sockets") {
  const TempFolder folder;
  const std::string path = folder / "a.sock";
  {
    RunningServer server(echo, {.host = path});
    CHECK(server.port() == 0);
    CHECK(server->url() == "unix:" + path);
    Client client(path);
    client.send(request("POST", "/", "a"));
    CHECK(client.receive().body == "POST / : a");
    CHECK_THROWS_AS(Server({.host = path}, {.handler = echo, .refuse = plain_refusal}),
                    weft::IoError);
  }
  CHECK(!std::filesystem::exists(path));
  // The socket that a killed server leaves behind.
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  CHECK(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  ::close(fd);
  CHECK(std::filesystem::exists(path));
  { RunningServer server(echo, {.host = path}); }
  std::ofstream(folder / "file.sock") << "precious";
  CHECK_THROWS_AS(
      Server({.host = folder / "file.sock"}, {.handler = echo, .refuse = plain_refusal}),
      weft::IoError);
  CHECK(std::filesystem::exists(folder / "file.sock"));
}

TEST_CASE("sockets that another process has opened") {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(::listen(fd, 5) == 0);
  const int other = ::socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(addresses_of({fd, other}) == std::vector<std::string>{"127.0.0.1", "unix"});
  ::close(other);
  RunningServer server(echo, {.listening_sockets = {fd}});
  Client client(server.port());
  client.send(request("GET", "/"));
  CHECK(client.receive().status == 200);
}

TEST_CASE("inherited sockets are those of this process") {
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("LISTEN_FDS", "2", 1);
  CHECK(inherited_sockets() == std::vector<int>{3, 4});
  CHECK(inherited_sockets().empty());  // only once
  ::setenv("LISTEN_PID", "1", 1);
  ::setenv("LISTEN_FDS", "2", 1);
  CHECK(inherited_sockets().empty());
}

TEST_CASE("drain ends idle connections, and the others after their answer") {
  Held held;
  RunningServer server(held.handler());
  Client idle(server.port()), half(server.port()), busy(server.port());
  half.send("GET / HT");
  busy.send(request("GET", "/"));
  CHECK(busy.until("\r\n1\r\na\r\n"));
  CHECK(eventually([&] { return server->counters().connections == 3; }));
  server->drain();
  CHECK(idle.at_end());
  CHECK(half.at_end());
  CHECK(!Client(server.port()).connected());
  held.go.set_value();
  CHECK(busy.rest() == "1\r\nb\r\n0\r\n\r\n");
  busy.close();
  CHECK(server.ends());
}

TEST_CASE("drain of a server without connections") {
  RunningServer server;
  server->drain();
  CHECK(server.ends());
}

TEST_CASE("stop ends everything at once") {
  Held held;
  RunningServer server(held.handler());
  Client busy(server.port());
  busy.send(request("GET", "/"));
  CHECK(busy.until("\r\n1\r\na\r\n"));
  server->stop();
  CHECK(server.ends());
  CHECK(busy.rest().empty());
  held.go.set_value();
}

TEST_CASE("a hook that throws does not keep the server from stopping") {
  ServerOptions options{.port = 0};
  std::atomic<int> n_logged = 0;
  Server server(options, {.handler = [](const std::shared_ptr<Exchange>&) {},
                          .refuse = plain_refusal,
                          .log =
                              [&](const RequestHead&, int, std::size_t, double) {
                                ++n_logged;
                                throw std::runtime_error("log");
                              }});
  std::thread io([&] { server.run(); });
  Client a(server.port()), b(server.port());
  for (Client* client : {&a, &b})
    client->send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\na");
  CHECK(eventually([&] { return server.counters().answering == 2; }));
  server.stop();
  io.join();
  CHECK(n_logged == 2);
  CHECK(server.counters().connections == 0);
  CHECK(server.counters().answering == 0);
}

TEST_CASE("an incomplete header is closed after the timeout, also while it drips") {
  RunningServer server(echo, {.timeout = kShort});
  Client silent(server.port()), none(server.port()), dripping(server.port());
  silent.send("GET / HTTP/1.1\r\nHo");
  CHECK(silent.receive().status == 408);
  CHECK(silent.at_end());
  CHECK(none.at_end());
  Client drips(server.port());
  std::atomic<bool> closed = false;
  std::thread sender([&] {
    drips.send("GET / HTTP/1.1\r\nA: ");
    while (!closed) {
      drips.send("a");
      std::this_thread::sleep_for(kShort / 10);
    }
  });
  CHECK(drips.receive().status == 408);
  closed = true;
  sender.join();
}

TEST_CASE("a body is closed when it is silent") {
  RunningServer server(echo, {.timeout = kShort});
  Client client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\na");
  CHECK(client.receive().status == 408);
}

TEST_CASE("a body is not closed while it comes") {
  // The body takes longer than the timeout. A busy machine may delay one byte by that much, too:
  // then the client tries again.
  constexpr auto kTimeout = std::chrono::seconds(1);
  RunningServer server(echo, {.timeout = kTimeout});
  bool whole = false;
  for (int attempt = 0; attempt < 20 && !whole; ++attempt) {
    Client client(server.port());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n");
    for (int i = 0; i < 8; ++i) {
      std::this_thread::sleep_for(kTimeout / 6);
      client.send("a");
    }
    whole = client.receive().body == "POST / : aaaaaaaa";
  }
  CHECK(whole);
}

TEST_CASE("computing is not limited by the timeout") {
  RunningServer server(
      [](const std::shared_ptr<Exchange>& exchange) {
        std::thread([exchange] {
          std::this_thread::sleep_for(3 * kShort);
          exchange->reply({.body = "late"});
        }).detach();
      },
      {.timeout = kShort});
  Client client(server.port());
  client.send(request("GET", "/"));
  CHECK(client.receive().body == "late");
}

TEST_CASE("many idle and half-open connections") {
  RunningServer server;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    if (i % 3 == 0) clients.back()->send("POST / HT");
    if (i % 3 == 1)
      clients.back()->send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc");
  }
  Client client(server.port());
  client.send(request("GET", "/"));
  CHECK(client.receive().status == 200);
  clients.clear();
  CHECK(eventually([&] { return server->counters().connections == 1; }));
}

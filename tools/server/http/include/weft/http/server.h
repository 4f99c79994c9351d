#pragma once
// An HTTP/1.1 server with one I/O thread, the one that calls run():
//
//   weft::http::Server server({.port = 8080}, {.handler = answer, .refuse = refuse});
//   server.run();  // until stop(), or until drain() has closed the last connection
//
// It parses requests, checks their framing and limits, and sends the answers of exchanges. Protocol
// errors become replies of `Hooks::refuse`; the handler sees complete, correct requests only.
//
// Threads: stop() and drain() may be called from any thread, but not from a signal handler. The
// hooks are called on the I/O thread and must neither block nor throw, except for the handler,
// whose exceptions are answered with status 500. Exchanges may outlive the server.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/http/exchange.h"

namespace weft::http {

// Why the server does not answer a request, in the terms of OpenAI's errors.
struct Refusal {
  int status;
  std::string message;
  std::string type = "invalid_request_error";
  std::string code = {};  // empty: none
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // a name, an address, or the path of a Unix socket (*.sock)
  int port = 8080;                 // 0: any free one
  // Open sockets that listen, in place of host and port (inherited_sockets()). The server closes
  // them.
  std::vector<int> listening_sockets = {};
  // How long a client may be silent: between requests, within a body, or while it reads an answer.
  // Computing an answer is not limited.
  std::chrono::milliseconds timeout = std::chrono::seconds(600);
  // The time, at most `timeout`, in which a header must be complete after its first byte, and in
  // which a TLS handshake must be.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(30);
  // A body may take `body_grace`, and one second more for every `min_body_rate` bytes that have
  // come; a slower request is answered with 408.
  std::chrono::milliseconds body_grace = std::chrono::seconds(20);
  std::size_t min_body_rate = 500;  // > 0
  // Open connections. 0: as many as the limit of file descriptors (RLIMIT_NOFILE) allows, without
  // an eighth of them, but at most 64, which are left to files. Beyond that, each new connection
  // takes the place of the one that waits for its client longest: for a request, the rest of one,
  // or the reading of an answer. The address with the most connections makes room first, if it has
  // more than a quarter of all. Requests that are computed are never cut; if all connections have
  // one, new ones are closed.
  std::size_t max_connections = 0;
  std::size_t max_body_bytes = std::size_t{32} << 20;  // after decompression
  // For the bodies of all requests that are not yet answered.
  std::size_t max_bodies_bytes = std::size_t{256} << 20;
  std::size_t max_request_line_bytes = std::size_t{16} << 10;
  std::size_t max_header_bytes = std::size_t{64} << 10;  // with the request line
  std::size_t max_header_lines = 100;
  std::string prefix = {};     // all paths are below it: "/llm"
  std::string cert_file = {};  // PEM, a chain. Both files or neither.
  std::string key_file = {};
};

struct Hooks {
  Handler handler;
  // The reply to a malformed request. `head` holds the parts that could be parsed: method and path
  // may be empty.
  std::function<Reply(const RequestHead& head, const Refusal& refusal)> refuse;
  // Called after the head and before the body. A reply ends the request; its body is not read.
  std::function<std::optional<Reply>(const RequestHead& head)> gate = {};
  // Whether the body of a request is read, after the gate let it in. If not, the request is handled
  // without one at once, and the connection closes after the answer. Empty: all are.
  std::function<bool(const RequestHead& head)> takes_body = {};
  // Headers for every answer to this request (CORS).
  std::function<Headers(const RequestHead& head)> answer_headers = {};
  // Called at the end of each answer with the bytes of its body. Status 499: the client left before
  // the answer began.
  std::function<void(const RequestHead& head, int status, std::size_t n_bytes, double seconds)>
      log = {};
};

struct ServerCounters {
  std::size_t connections = 0;  // open
  std::size_t requests = 0;     // received since the start
  std::size_t answering = 0;    // requests whose answer is not complete
};

class Server {
 public:
  // Listens when it returns. Throws IoError (port in use, unreadable certificate), ValueError
  // (unknown host, port out of range, a certificate without a key, a lowest rate of 0).
  Server(const ServerOptions& options, Hooks hooks);
  // Closes everything. REQUIRES: run() is not running.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;  // 0 for a Unix socket
  // "http://127.0.0.1:8080", or "unix:/path.sock".
  std::string url() const;

  // Serves until stopped or drained.
  void run();
  // Listens no more and closes idle connections. The others close after their answer, then run()
  // returns.
  void drain();
  // Closes everything at once; clients of unfinished answers have left. run() returns.
  void stop();

  ServerCounters counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sockets that systemd passes to this process (LISTEN_FDS); empty if there are none. Removes them
// from the environment.
std::vector<int> inherited_sockets();

inline constexpr const char* kUnixAddress = "unix";

// Where sockets listen: numeric addresses without ports, kUnixAddress.
std::vector<std::string> addresses_of(const std::vector<int>& sockets);

// Raises this process's limit of open connections to the system's maximum (RLIMIT_NOFILE).
void raise_descriptor_limit();

}  // namespace weft::http

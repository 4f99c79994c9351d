#pragma once
// For tests: a server on a thread of its own, and a client that sends bytes as they are.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/base/text.h"
#include "weft/http/server.h"

#include "support/waiting.h"

namespace weft::http::test {

// Long enough for everything that should happen.
inline constexpr int kPatience = 20;  // seconds

struct Received {
  int status = 0;  // 0: closed instead
  Headers headers;
  std::string body;
  std::string_view header(std::string_view name) const { return find_header(headers, name); }
};

class Client {
 public:
  // `from`: the last byte of its own address, 127.0.0.N.
  explicit Client(int port, int receive_buffer = 0, std::uint32_t from = 1)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + from - 1);
    if (from != 1)
      REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  int socket() const { return fd_; }

  // Stops if the server closes.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  // The next answer; its status is 0 if the connection is closed before it is complete.
  Received receive(bool head_only = false) {
    const auto head = until("\r\n\r\n");
    if (!head) return {};
    Received r = parse_head(*head);
    if (head_only || r.status < 200 || r.status == 204) return r;
    const auto length = r.header("content-length");
    bool complete = true;
    if (r.header("transfer-encoding") == "chunked")
      complete = receive_chunks(r.body);
    else if (!length.empty())
      complete = exactly(std::stoul(std::string(length)), r.body);
    else
      r.body = rest();
    if (!complete) r.status = 0;
    return r;
  }
  std::string rest() {
    while (more()) {
    }
    return std::exchange(buffer_, {});
  }
  // Whether the server closes the connection, and sends nothing before.
  bool at_end() { return buffer_.empty() && !more(); }
  std::optional<std::string> until(std::string_view mark) {
    while (buffer_.find(mark) == std::string::npos)
      if (!more()) return std::nullopt;
    const std::size_t end = buffer_.find(mark) + mark.size();
    std::string part = buffer_.substr(0, end);
    buffer_.erase(0, end);
    return part;
  }

 private:
  void connect(const sockaddr* address, socklen_t size) {
    const timeval patience{kPatience, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    connected_ = ::connect(fd_, address, size) == 0;
  }
  bool more() {
    char bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof(bytes), 0);
    if (n > 0) buffer_.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }
  bool exactly(std::size_t n, std::string& out) {
    while (buffer_.size() < n)
      if (!more()) return false;
    out += buffer_.substr(0, n);
    buffer_.erase(0, n);
    return true;
  }
  bool receive_chunks(std::string& out) {
    for (;;) {
      const auto line = until("\r\n");
      if (!line) return false;
      const std::size_t n = std::strtoul(line->c_str(), nullptr, 16);
      std::string end;
      if (!exactly(n, out) || !exactly(2, end) || end != "\r\n") return false;
      if (n == 0) return true;
    }
  }
  static Received parse_head(std::string_view head) {
    Received r;
    r.status = std::atoi(std::string(head.substr(head.find(' ') + 1, 3)).c_str());
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::string_view line = head.substr(at, end - at);
      const std::size_t colon = line.find(':');
      r.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
      at = end + 2;
    }
    return r;
  }

  int fd_;
  bool connected_ = false;
  std::string buffer_;
};

// "status message", and the type and code if they are unusual.
inline Reply plain_refusal(const RequestHead&, const Refusal& r) {
  return {.status = r.status, .body = r.type + ": " + r.message, .content_type = "text/plain"};
}

// "METHOD path query: body"
inline void echo(const std::shared_ptr<Exchange>& exchange) {
  const Request& r = exchange->request();
  exchange->reply({.body = r.method + " " + r.path + " " + r.query + ": " + r.body});
}

struct LogLine {
  std::string method, path;
  int status;
  std::size_t n_bytes;
};

// Answers with `handler` on a free port of 127.0.0.1 until it is destroyed.
class RunningServer {
 public:
  explicit RunningServer(Handler handler = echo, ServerOptions options = {}, Hooks hooks = {}) {
    if (options.listening_sockets.empty() && options.port == 8080) options.port = 0;
    hooks.handler = std::move(handler);
    if (!hooks.refuse) hooks.refuse = plain_refusal;
    hooks.log = [this](const RequestHead& head, int status, std::size_t n, double) {
      const std::lock_guard lock(mutex_);
      log_.push_back({head.method, head.path, status, n});
    };
    server_.emplace(options, std::move(hooks));
    thread_ = std::thread([this] {
      server_->run();
      ended_.set_value();
    });
  }
  ~RunningServer() {
    server_->stop();
    thread_.join();
  }

  Server& operator*() { return *server_; }
  Server* operator->() { return &*server_; }
  int port() const { return server_->port(); }
  bool ends() {
    return ended_.get_future().wait_for(std::chrono::seconds(kPatience)) ==
           std::future_status::ready;
  }
  std::vector<LogLine> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  std::optional<Server> server_;
  std::thread thread_;
  std::promise<void> ended_;
  std::mutex mutex_;
  std::vector<LogLine> log_;
};

using weft::test::eventually;

// "METHOD PATH HTTP/1.1" with a Host, more header lines, and a body with its length.
inline std::string request(std::string_view method, std::string_view path,
                           std::string_view body = "", std::string_view more = "") {
  std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
  text += more;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

}  // namespace weft::http::test

#include "weft/http/server.h"

#include <atomic>
#include <list>
#include <random>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weft/base/error.h"

#include "connection.h"
#include "connections.h"
#include "listener.h"
#include "service.h"
#include "transports.h"

namespace weft::http {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<Protocol>;
using Code = boost::system::error_code;

// After an accept that failed for lack of file descriptors or memory.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

Protocol protocol_of(int socket) {
  int family = AF_UNIX;
  socklen_t size = sizeof(family);
  getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return {family, SOCK_STREAM};
}

std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

void check_options(const ServerOptions& options, const Hooks& hooks) {
  if (!hooks.handler || !hooks.refuse) fail<ValueError>("a server needs a handler and refusals");
  if (options.cert_file.empty() != options.key_file.empty())
    fail<ValueError>("TLS needs both a certificate and a key: the {} is missing",
                     options.cert_file.empty() ? "certificate" : "key");
  if (!options.prefix.empty() &&
      (!options.prefix.starts_with('/') || options.prefix.ends_with('/')))
    fail<ValueError>("a prefix begins with '/' and does not end with it, got '{}'", options.prefix);
  if (options.min_body_rate == 0) fail<ValueError>("the lowest rate of bodies must not be 0");
}

struct Listener {
  explicit Listener(asio::io_context& io, int socket)
      : acceptor(io, protocol_of(socket), socket), pause(io) {}
  Acceptor acceptor;
  asio::steady_timer pause;
};

}  // namespace

struct Server::Impl final : Service {
  Impl(const ServerOptions& o, Hooks h);
  ~Impl() override;

  std::string new_request_id() override {
    return fmt::format("req_{:016x}{:08x}", id_begin_, ++n_requests_ & 0xffffffff);
  }
  void on_request() override { ++n_answering_; }
  void on_answered() override { --n_answering_; }
  void on_progress(Connection& connection) override { connections.touch(connection); }
  void on_closed(Connection& connection) override;

  void accept(Listener& listener);
  void on_accepted(Listener& listener, Code error, Socket socket);
  void add(Socket socket);
  bool is_full(int socket) const;
  void stop_listening();
  void drain();
  void stop();
  void end_if_drained();

  Listening listening;
  std::unique_ptr<TlsContext> tls;
  std::list<Listener> listeners;
  Connections connections;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  const std::uint64_t id_begin_ = random_number();
  std::atomic<std::size_t> n_connections_ = 0, n_requests_ = 0, n_answering_ = 0;
};

Server::Impl::Impl(const ServerOptions& o, Hooks h) {
  options = o;
  hooks = std::move(h);
  check_options(options, hooks);
  if (!options.cert_file.empty())
    tls = std::make_unique<TlsContext>(options.cert_file, options.key_file);
  listening = options.listening_sockets.empty() ? listen_on(options.host, options.port)
                                                : adopt_sockets(options.listening_sockets);
  if (tls && listening.port != 0) listening.url.insert(4, "s");
  for (const int socket : listening.sockets) accept(listeners.emplace_back(io, socket));
}

Server::Impl::~Impl() {
  stop();
  // Operations that were cancelled release their connections.
  io.restart();
  io.poll();
}

void Server::Impl::accept(Listener& listener) {
  listener.acceptor.async_accept([this, &listener](Code error, Socket socket) {
    on_accepted(listener, error, std::move(socket));
  });
}

void Server::Impl::on_accepted(Listener& listener, Code error, Socket socket) {
  if (!listener.acceptor.is_open()) return;
  if (!error) {
    try {
      // A socket that is not added closes.
      if (!is_full(socket.native_handle()) || connections.make_room()) add(std::move(socket));
    } catch (const std::exception&) {
      // No memory for it: the socket closes.
    }
    return accept(listener);
  }
  if (error == asio::error::connection_aborted) return accept(listener);
  const bool no_descriptors = error == asio::error::no_descriptors ||
                              error == boost::system::errc::too_many_files_open_in_system;
  if (no_descriptors && connections.make_room()) return accept(listener);
  listener.pause.expires_after(kAcceptPause);
  listener.pause.async_wait([this, &listener](Code cancelled) {
    if (!cancelled && listener.acceptor.is_open()) accept(listener);
  });
}

void Server::Impl::add(Socket socket) {
  const int on = 1;
  const int fd = socket.native_handle();
  if (listening.port != 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const std::string peer = peer_name(fd);
  auto transport =
      tls ? tls->make_transport(std::move(socket)) : make_plain_transport(std::move(socket));
  auto connection = std::make_shared<Connection>(*this, std::move(transport), peer);
  connections.add(connection, peer);
  ++n_connections_;
  connection->start();
}

void Server::Impl::on_closed(Connection& connection) {
  connections.remove(connection);
  --n_connections_;
  end_if_drained();
}

// Whether the new connection takes the place of another one.
bool Server::Impl::is_full(int socket) const {
  if (options.max_connections > 0 && connections.size() >= options.max_connections) return true;
  return socket >= first_reserved_descriptor();
}

void Server::Impl::stop_listening() {
  for (Listener& listener : listeners) {
    Code ignored;
    listener.acceptor.close(ignored);
    listener.pause.cancel();
  }
  if (!listening.unix_path.empty()) ::unlink(listening.unix_path.c_str());
  listening.unix_path.clear();
}

// A hook that throws while a connection closes does not keep the others open.
template <class Close>
void close_one(const Close& close) {
  try {
    close();
  } catch (const std::exception&) {
  }
}

void Server::Impl::drain() {
  draining = true;
  stop_listening();
  for (const auto& connection : connections.all()) close_one([&] { connection->drain(); });
  end_if_drained();
}

void Server::Impl::stop() {
  stop_listening();
  for (const auto& connection : connections.all()) close_one([&] { connection->close(); });
  io.stop();
}

void Server::Impl::end_if_drained() {
  if (draining && connections.empty()) io.stop();
}

Server::Server(const ServerOptions& options, Hooks hooks)
    : impl_(std::make_unique<Impl>(options, std::move(hooks))) {}
Server::~Server() = default;

int Server::port() const {
  return impl_->listening.port;
}

std::string Server::url() const {
  return impl_->listening.url;
}

void Server::run() {
  for (;;) {
    try {
      impl_->io.run();
      return;
    } catch (const std::exception&) {
      // A hook threw while a connection closed. No request may end the server.
    }
  }
}

void Server::drain() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->drain(); });
}

void Server::stop() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->stop(); });
}

ServerCounters Server::counters() const {
  return {impl_->n_connections_, impl_->n_requests_, impl_->n_answering_};
}

}  // namespace weft::http

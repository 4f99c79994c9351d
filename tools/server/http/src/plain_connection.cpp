#include <utility>

#include <boost/asio/write.hpp>

#include "listener.h"
#include "transports.h"

namespace weft::http {
namespace {

namespace asio = boost::asio;
using Code = boost::system::error_code;

class PlainConnection final : public Connection {
 public:
  PlainConnection(Service& service, Socket socket, std::string peer)
      : Connection(service, std::move(peer)), socket_(std::move(socket)) {}

 private:
  std::shared_ptr<PlainConnection> self() {
    return std::static_pointer_cast<PlainConnection>(shared_from_this());
  }

  void handshake() override {
    Code error;
    socket_.non_blocking(true, error);
    on_handshake(!error);
  }
  void read(char* data, std::size_t n) override {
    socket_.async_read_some(asio::buffer(data, n), [self = self()](Code error, std::size_t n_read) {
      self->on_read(!error, n_read);
    });
  }
  std::size_t write_now(const Buffers& buffers) override {
    Code ignored;  // the write that follows has it, too
    return socket_.write_some(buffers, ignored);
  }
  void write(const Buffers& buffers) override {
    const auto progress = [this](Code error, std::size_t n) -> std::size_t {
      if (n > 0) on_progress();
      return error ? 0 : kMaxWrite;
    };
    asio::async_write(socket_, buffers, progress,
                      [self = self()](Code error, std::size_t) { self->on_written(!error); });
  }
  void shut_down() override {
    Code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void close_socket() override {
    Code ignored;
    socket_.close(ignored);
  }
  bool client_has_left() override { return has_hung_up(socket_.native_handle()); }

  static constexpr std::size_t kMaxWrite = std::size_t{1} << 20;
  Socket socket_;
};

}  // namespace

std::shared_ptr<Connection> make_plain_connection(Service& service, Socket socket,
                                                  std::string peer) {
  return std::make_shared<PlainConnection>(service, std::move(socket), std::move(peer));
}

}  // namespace weft::http

#include <utility>

#include <boost/asio/write.hpp>

#include "connection.h"
#include "listener.h"
#include "transports.h"

namespace weft::http {
namespace {

namespace asio = boost::asio;
using Code = boost::system::error_code;

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  void handshake(Owner owner) override {
    Code error;
    socket_.non_blocking(true, error);
    owner->on_handshake(!error);
  }
  void read(Owner owner, char* data, std::size_t n) override {
    socket_.async_read_some(asio::buffer(data, n), [owner](Code error, std::size_t n_read) {
      owner->on_read(!error, n_read);
    });
  }
  std::size_t write_now(const Buffers& buffers) override {
    Code ignored;  // the write that follows has it, too
    return socket_.write_some(buffers, ignored);
  }
  void write(Owner owner, const Buffers& buffers) override {
    const auto progress = [&connection = *owner](Code error, std::size_t n) -> std::size_t {
      if (n > 0) connection.on_progress();
      return error ? 0 : kMaxWrite;
    };
    asio::async_write(socket_, buffers, progress,
                      [owner](Code error, std::size_t) { owner->on_written(!error); });
  }
  void shut_down(Owner) override {
    Code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void close() override {
    Code ignored;
    socket_.close(ignored);
  }
  bool client_has_left() override { return has_hung_up(socket_.native_handle()); }
  bool may_be_read() override { return !is_broken(socket_.native_handle()); }

 private:
  static constexpr std::size_t kMaxWrite = std::size_t{1} << 20;
  Socket socket_;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(Socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace weft::http

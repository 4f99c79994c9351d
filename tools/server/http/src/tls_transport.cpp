#include <array>
#include <utility>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "weft/base/error.h"

#include "connection.h"
#include "listener.h"
#include "transports.h"

namespace weft::http {
namespace {

namespace asio = boost::asio;
using Code = boost::system::error_code;

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

  void handshake(Owner owner) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [owner](Code error) { owner->on_handshake(!error); });
  }
  void read(Owner owner, char* data, std::size_t n) override {
    stream_.async_read_some(asio::buffer(data, n), [owner](Code error, std::size_t n_read) {
      owner->on_read(!error, n_read);
    });
  }
  std::size_t write_now(const Buffers&) override { return 0; }
  void write(Owner owner, const Buffers& buffers) override {
    // One record for short strings, in place of one for each.
    joined_.clear();
    std::size_t n = 0;
    for (const auto& b : buffers) n += b.size();
    joined_.reserve(n);
    for (const auto& b : buffers) joined_.append(static_cast<const char*>(b.data()), b.size());
    const auto progress = [&connection = *owner](Code error, std::size_t n_written) -> std::size_t {
      if (n_written > 0) connection.on_progress();
      return error ? 0 : kMaxWrite;
    };
    asio::async_write(stream_, asio::buffer(joined_), progress,
                      [owner](Code error, std::size_t) { owner->on_written(!error); });
  }
  void shut_down(Owner owner) override {
    // Sends close_notify. A pending read goes on until the client's comes.
    stream_.async_shutdown([this, owner](Code) {
      Code ignored;
      stream_.lowest_layer().shutdown(Socket::shutdown_send, ignored);
    });
  }
  void close() override {
    Code ignored;
    stream_.lowest_layer().close(ignored);
  }
  bool client_has_left() override { return has_hung_up(stream_.lowest_layer().native_handle()); }
  bool may_be_read() override { return false; }  // the end of the input ends the session

 private:
  static constexpr std::size_t kMaxWrite = std::size_t{16} << 10;
  asio::ssl::stream<Socket> stream_;
  std::string joined_;
};

// HTTP/1.1 is chosen if the client offers it; another offer is ignored.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp, sizeof(kHttp) - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

struct TlsContext::Impl {
  asio::ssl::context context{asio::ssl::context::tls_server};
};

TlsContext::TlsContext(const std::string& cert_file, const std::string& key_file)
    : impl_(std::make_unique<Impl>()) {
  asio::ssl::context& context = impl_->context;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context.native_handle(), &choose_protocol, nullptr);
  // In place of a question on the terminal.
  context.set_password_callback(
      [](std::size_t, asio::ssl::context::password_purpose) { return ""; });
  Code error;
  context.use_certificate_chain_file(cert_file, error);
  if (error) fail<IoError>("{}: cannot use the certificate: {}", cert_file, error.message());
  context.use_private_key_file(key_file, asio::ssl::context::pem, error);
  if (error) fail<IoError>("{}: cannot use the key: {}", key_file, error.message());
}

TlsContext::~TlsContext() = default;

std::unique_ptr<Transport> TlsContext::make_transport(Socket socket) {
  return std::make_unique<TlsTransport>(std::move(socket), impl_->context);
}

}  // namespace weft::http

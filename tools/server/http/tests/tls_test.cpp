#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "weft/base/error.h"

#include "support/temp_folder.h"
#include "test_client.h"

using namespace weft::http;
using namespace weft::http::test;
using weft::test::TempFolder;

namespace {

template <class T, void (*release)(T*)>
struct Released {
  void operator()(T* p) const { release(p); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Released<T, release>>;

// A key, and a certificate for it, in PEM files.
struct Pair {
  Pair(const TempFolder& folder, const std::string& name)
      : cert(folder / (name + ".cert")), key(folder / (name + ".key")) {
    const Owned<EVP_PKEY, EVP_PKEY_free> pair(EVP_EC_gen("P-256"));
    const Owned<X509, X509_free> x(X509_new());
    ASN1_INTEGER_set(X509_get_serialNumber(x.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
    X509_set_pubkey(x.get(), pair.get());
    X509_sign(x.get(), pair.get(), EVP_sha256());
    std::FILE* file = std::fopen(cert.c_str(), "w");
    PEM_write_X509(file, x.get());
    std::fclose(file);
    file = std::fopen(key.c_str(), "w");
    PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }
  std::string cert, key;
};

// Speaks TLS over a client's socket.
class TlsClient {
 public:
  explicit TlsClient(int port)
      : client_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_.get())) {
    SSL_set_fd(ssl_.get(), client_.socket());
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  bool connected() const { return connected_; }
  void send(std::string_view bytes) {
    SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // Up to `mark`, or to the end.
  std::string until(std::string_view mark) {
    std::string text;
    char c = 0;
    while (!text.ends_with(mark) && SSL_read(ssl_.get(), &c, 1) == 1) text += c;
    return text;
  }
  // Whether the server has said that nothing more comes.
  bool ended() {
    char c = 0;
    const int n = SSL_read(ssl_.get(), &c, 1);
    return n <= 0 && SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
  }
  void close() { client_.close(); }

 private:
  Client client_;
  Owned<SSL_CTX, SSL_CTX_free> context_;
  Owned<SSL, SSL_free> ssl_;
  bool connected_ = false;
};

}  // namespace

TEST_CASE("TLS") {
  const TempFolder folder;
  const Pair pair(folder, "a");
  std::atomic<bool> left = false;
  std::shared_ptr<Exchange> kept;
  const auto handler = [&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/large")
      return exchange->reply({.body = std::string(3 << 20, 'x')});
    if (exchange->request().path != "/kept") return echo(exchange);
    exchange->on_client_left([&] { left = true; });
    exchange->begin({.body = "begun"});
    kept = exchange;
  };
  {
    RunningServer server(handler, {.cert_file = pair.cert, .key_file = pair.key});
    CHECK(server->url().starts_with("https://127.0.0.1:"));
    TlsClient client(server.port());
    REQUIRE(client.connected());
    client.send(request("POST", "/", "a") + request("POST", "/large", "b"));
    CHECK(client.until("POST / : a").ends_with("POST / : a"));
    CHECK(client.until("\r\n\r\n").find("3145728") != std::string::npos);
    std::string body;
    while (body.size() < 3 << 20) body += client.until("x");
    client.send(request("GET", "/", "", "Connection: close\r\n"));
    CHECK(client.until("GET / : ").ends_with("GET / : "));
    CHECK(client.ended());

    TlsClient leaving(server.port());
    leaving.send(request("GET", "/kept"));
    CHECK(leaving.until("begun").ends_with("begun"));
    leaving.close();
    CHECK(eventually([&] { return left.load(); }));

    Client plain(server.port());
    plain.send(request("GET", "/"));
    CHECK(plain.rest().find("HTTP") == std::string::npos);
    TlsClient after(server.port());
    CHECK(after.connected());
  }
}

TEST_CASE("certificates and keys that cannot be") {
  const TempFolder folder;
  const Pair one(folder, "one"), two(folder, "two");
  const auto make = [](const std::string& cert, const std::string& key) {
    Server({.port = 0, .cert_file = cert, .key_file = key},
           {.handler = echo, .refuse = plain_refusal});
  };
  CHECK_NOTHROW(make(one.cert, one.key));
  CHECK_THROWS_WITH_AS(make(one.cert, two.key),
                       doctest::Contains("two.key: cannot use the key: key values mismatch"),
                       weft::IoError);
  CHECK_THROWS_WITH_AS(make(one.key, one.key),
                       doctest::Contains("one.key: cannot use the certificate"), weft::IoError);
  CHECK_THROWS_WITH_AS(make(one.cert, one.cert), doctest::Contains("one.cert: cannot use the key"),
                       weft::IoError);
  CHECK_THROWS_AS(make(one.cert, folder / "absent"), weft::IoError);
}

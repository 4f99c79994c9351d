#pragma once
// The kinds of connections.

#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "connection.h"

namespace weft::http {

using Socket = boost::asio::generic::stream_protocol::socket;  // TCP or Unix

std::shared_ptr<Connection> make_plain_connection(Service& service, Socket socket,
                                                  std::string peer);

// The certificate and the key of a TLS server.
class TlsContext {
 public:
  // Throws IoError naming the file.
  TlsContext(const std::string& cert_file, const std::string& key_file);
  ~TlsContext();
  std::shared_ptr<Connection> make_connection(Service& service, Socket socket, std::string peer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::http

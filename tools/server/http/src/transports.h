#pragma once
// The kinds of transports.

#include <memory>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "transport.h"

namespace weft::http {

using Socket = boost::asio::generic::stream_protocol::socket;  // TCP or Unix

std::unique_ptr<Transport> make_plain_transport(Socket socket);

// The certificate and the key of a TLS server.
class TlsContext {
 public:
  // Throws IoError naming the file.
  TlsContext(const std::string& cert_file, const std::string& key_file);
  ~TlsContext();
  std::unique_ptr<Transport> make_transport(Socket socket);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::http

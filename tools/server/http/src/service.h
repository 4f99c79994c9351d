#pragma once
// The state shared by the connections of a server. Used on the I/O thread only.

#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "weft/http/server.h"

#include "request_reader.h"

namespace weft::http {

class Connection;

struct Service {
  // Answers may outlive the server.
  const std::shared_ptr<boost::asio::io_context> shared_io =
      std::make_shared<boost::asio::io_context>(1);
  boost::asio::io_context& io = *shared_io;
  ServerOptions options;
  Hooks hooks;
  bool draining = false;
  std::size_t n_body_bytes = 0;  // bytes of the bodies that are being received

  ReaderLimits reader_limits() const {
    return {{options.max_request_line_bytes, options.max_header_bytes, options.max_header_lines},
            options.max_body_bytes};
  }
  virtual ~Service() = default;
  virtual std::string new_request_id() = 0;
  virtual void on_request() = 0;
  virtual void on_answered() = 0;
  // The client of the connection has sent or taken something, or has its turn from now on.
  virtual void on_progress(Connection& connection) = 0;
  // The connection is closed and releases itself.
  virtual void on_closed(Connection& connection) = 0;
};

}  // namespace weft::http

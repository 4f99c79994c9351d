#pragma once
// What moves the bytes of a connection. Used on the I/O thread only.

#include <cstddef>
#include <memory>
#include <vector>

#include <boost/asio/buffer.hpp>

namespace weft::http {

class Connection;
using Buffers = std::vector<boost::asio::const_buffer>;

class Transport {
 public:
  using Owner = std::shared_ptr<Connection>;

  virtual ~Transport() = default;

  // Writes what can be written at once, and returns the number of bytes.
  virtual std::size_t write_now(const Buffers& buffers) = 0;
  // Each begins an operation and calls the owner's function of the same name with "on_" when it is
  // done. The operation keeps the owner alive. Several reads or several writes are never pending at
  // once.
  virtual void handshake(Owner owner) = 0;
  virtual void read(Owner owner, char* data, std::size_t n) = 0;
  virtual void write(Owner owner, const Buffers& buffers) = 0;
  // Tells the client that nothing more comes.
  virtual void shut_down(Owner owner) = 0;
  virtual void close() = 0;
  // Whether the client has closed its direction, for times when no read is pending.
  virtual bool client_has_left() = 0;
  // Whether a client that has closed its direction may still read.
  virtual bool may_be_read() = 0;
};

}  // namespace weft::http

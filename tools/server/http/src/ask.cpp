#include "weft/http/ask.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "weft/base/error.h"

namespace weft::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr std::size_t kMaxBody = std::size_t{1} << 20;
constexpr std::string_view kHttp = "http://", kUnix = "unix:";

struct Address {
  std::string host, port = "80", path = "/";
  std::string socket;  // instead of host and port
};

Address parse(std::string_view text) {
  Address address;
  if (text.starts_with(kUnix)) {
    address.socket = text.substr(kUnix.size());
    address.host = "localhost";
    return address;
  }
  const std::string whole(text);
  if (!text.starts_with(kHttp))
    throw ValueError("address: expected http://HOST:PORT/PATH or unix:SOCKET, got '" + whole + "'");
  text.remove_prefix(kHttp.size());
  const auto slash = std::min(text.find('/'), text.size());
  std::string_view place = text.substr(0, slash);
  if (slash < text.size()) address.path = text.substr(slash);
  // In "[::1]:8080", only the last colon is that of the port.
  const auto colon = place.find(':', place.starts_with('[') ? place.find(']') : 0);
  if (colon != std::string_view::npos) {
    address.port = place.substr(colon + 1);
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  address.host = place;
  if (address.host.empty() || address.port.empty())
    throw ValueError("address: expected http://HOST:PORT/PATH, got '" + whole + "'");
  return address;
}

std::vector<asio::generic::stream_protocol::endpoint> endpoints(asio::io_context& io,
                                                                const Address& address) {
  if (!address.socket.empty()) return {asio::local::stream_protocol::endpoint(address.socket)};
  std::vector<asio::generic::stream_protocol::endpoint> all;
  for (const auto& found : asio::ip::tcp::resolver(io).resolve(address.host, address.port))
    all.emplace_back(found.endpoint());
  return all;
}

asio::awaitable<Reply> get(asio::io_context& io, Address address,
                           std::chrono::milliseconds patience) {
  beast::basic_stream<asio::generic::stream_protocol> stream(io);
  stream.expires_after(patience);
  co_await stream.async_connect(endpoints(io, address), asio::use_awaitable);
  beast::http::request<beast::http::empty_body> request(beast::http::verb::get, address.path, 11);
  request.set(beast::http::field::host, address.host + ":" + address.port);
  request.set(beast::http::field::connection, "close");
  co_await beast::http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> parser;
  parser.body_limit(kMaxBody);
  co_await beast::http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return Reply{.status = static_cast<int>(parser.get().result_int()),
                  .body = parser.get().body(),
                  .content_type = parser.get()[beast::http::field::content_type]};
}

}  // namespace

Reply ask(const std::string& address, std::chrono::milliseconds patience) {
  const Address parsed = parse(address);
  asio::io_context io(1);
  Reply reply;
  std::exception_ptr error;
  asio::co_spawn(io, get(io, parsed, patience), [&](std::exception_ptr thrown, Reply got) {
    error = std::move(thrown);
    reply = std::move(got);
  });
  io.run();
  try {
    if (error) std::rethrow_exception(error);
  } catch (const boost::system::system_error& e) {
    throw IoError(address + ": " + e.code().message(), e.code().value());
  }
  return reply;
}

}  // namespace weft::http

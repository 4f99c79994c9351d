#pragma once
// One HTTP request and its answer, independent of the library that speaks the protocol. The server
// passes exchanges to a handler (http/server.h); tests make their own.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::http {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names as they were received

// The value of the first header of that name, in any case; empty if there is none.
std::string_view find_header(const Headers& headers, std::string_view name);

// The head of a request: everything before the body.
struct RequestHead {
  std::string method;  // "GET"
  std::string path;    // without query, prefix and percent-encoding: "/v1/chat/completions"
  std::string query;   // after '?', as received
  Headers headers;
  std::string id;    // new for each request: x-request-id
  std::string peer;  // address of the client, without its port
};

struct Request : RequestHead {
  std::string body;  // complete, decompressed
};

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  Headers headers = {};  // besides those that every answer has
};

// Threads: all functions may be called from any thread; calls for one exchange come one at a time.
// An exchange that is destroyed without an answer is answered with status 500.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  // The whole answer. REQUIRES: nothing was sent before.
  virtual void reply(Reply reply) = 0;

  // An answer in pieces, sent as they come: `begin.body` first, if it is not empty. After begin()
  // comes any number of write(), then end(). Pieces written after the client has left are dropped.
  virtual void begin(Reply begin) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;

  // Bytes that were written but not yet taken by the client: the writer may wait for a slow reader.
  virtual std::size_t unsent() const = 0;

  // `left` is called once, on a thread of the server, if the client leaves before the answer is
  // complete; at once, on this thread, if it has already left. It must not block.
  virtual void on_client_left(std::function<void()> left) = 0;
};

// Answers a request now or later, from any thread; must not block. An exception becomes a reply
// with status 500.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace weft::http

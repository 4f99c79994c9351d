#pragma once
// Strict checks of the bytes of a request's head, before the parser of the HTTP library sees them.
// That parser is lenient in places in which another server in front may decide otherwise, and two
// opinions on where a request ends are how requests are smuggled (RFC 9112 section 11.2).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::http {

struct HeadLimits {
  std::size_t request_line_bytes, header_bytes, header_lines;
};

// Finds the end of a head that arrives in pieces. Each byte is looked at once.
class HeadScanner {
 public:
  explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

  // `bytes`: all that was received of the head, those of earlier calls first. Returns the length of
  // the head with its empty line; 0 if it is incomplete. Throws RefusedError for forbidden
  // characters, for line ends other than CR LF, and above the limits.
  std::size_t scan(std::string_view bytes);

 private:
  void end_line(std::size_t end);
  void check_limits(std::size_t n_bytes) const;

  HeadLimits limits_;
  std::size_t at_ = 0;          // bytes seen
  std::size_t line_begin_ = 0;  // where the current line begins
  std::size_t n_lines_ = 0;     // complete ones, with the request line
  bool after_cr_ = false;
};

// How the body is delimited.
struct Framing {
  int minor_version = 1;                     // HTTP/1.x
  std::optional<std::uint64_t> length = {};  // Content-Length
  bool chunked = false;
};

// `head`: a complete head that passed HeadScanner. Throws RefusedError if it is not a correct
// request line with correct fields, exactly one Host (HTTP/1.1), and at most one way to delimit the
// body.
Framing check_head(std::string_view head);

}  // namespace weft::http

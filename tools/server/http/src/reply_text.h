#pragma once
// Answers as bytes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/http/exchange.h"

namespace weft::http {

struct ReplyFraming {
  std::optional<std::size_t> length;  // Content-Length; none: the body comes in pieces
  bool chunked = false;               // they are delimited; otherwise the connection's end does it
  bool close = false;                 // after this answer
};

// The status line and the header of `reply`, with those that every answer has, and `more`.
// Characters that would end a line are replaced by spaces.
std::string reply_head(const Reply& reply, const RequestHead& request, const ReplyFraming& framing,
                       const Headers& more);

// Answers with these statuses have no body.
bool has_no_body(int status);

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
// The line before a chunk.
std::string chunk_line(std::size_t n_bytes);

}  // namespace weft::http

#pragma once
// The target of a request line.

#include <string>
#include <string_view>

namespace weft::http {

struct Target {
  // Decoded, without a slash at its end unless it is "/"; "*" for the target of OPTIONS *.
  std::string path;
  std::string query;      // after '?', as received
  std::string authority;  // "localhost:8080" in the absolute form; empty otherwise
};

// Throws RefusedError if the target is neither a path, nor an absolute http URL, nor "*", and if
// the path holds invalid escapes, control characters or bytes that are not UTF-8.
Target parse_target(std::string_view target);

}  // namespace weft::http

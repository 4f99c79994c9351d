#pragma once
// A request to a running server, for programs that look after it.

#include <chrono>
#include <string>

#include "weft/http/exchange.h"

namespace weft::http {

// GETs http://HOST[:PORT][/PATH] (port 80, "/") or unix:SOCKET (path "/"). Throws ValueError for
// another address, IoError if no whole answer comes within `patience` or it is longer than 1 MiB.
// The reply has no headers.
Reply ask(const std::string& address, std::chrono::milliseconds patience);

}  // namespace weft::http

#pragma once
// Which addresses count as one client.

#include <string>
#include <string_view>

namespace weft::http {

// The address that shares and limits count for `peer`: an IPv4 address itself, also if it is
// written as one of IPv6; the first 64 bits of an IPv6 address, as one client usually has all
// addresses below them; other texts as they are.
std::string peer_group(std::string_view peer);

}  // namespace weft::http

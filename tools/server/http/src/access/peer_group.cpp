#include "peer_group.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace weft::http {

std::string peer_group(std::string_view peer) {
  const std::string address(peer.substr(0, peer.find('%')));  // without the name of an interface
  in6_addr v6 = {};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1) return std::string(peer);
  std::array<char, INET6_ADDRSTRLEN> text = {};
  constexpr std::size_t kMapped = 12;  // bytes before the IPv4 address
  if (IN6_IS_ADDR_V4MAPPED(&v6))
    return ::inet_ntop(AF_INET, v6.s6_addr + kMapped, text.data(), text.size());
  std::fill(std::begin(v6.s6_addr) + 8, std::end(v6.s6_addr), std::uint8_t{0});
  return std::string(::inet_ntop(AF_INET6, &v6, text.data(), text.size())) + "/64";
}

}  // namespace weft::http

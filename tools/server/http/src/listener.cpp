#include "listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/http/server.h"

namespace weft::http {
namespace {

constexpr int kFirstInherited = 3;  // SD_LISTEN_FDS_START
constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

std::string system_text(int code) {
  return std::generic_category().message(code);
}

// "127.0.0.1:80", "[::1]:80"
std::string host_and_port(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

[[noreturn]] void cannot_listen(const std::string& where, int code) {
  fail<IoError>("cannot listen on {}: {}", where, system_text(code));
}

// Closes the opened sockets if not all could be opened.
struct OpenSockets {
  std::vector<int> sockets;
  ~OpenSockets() {
    for (const int socket : sockets) ::close(socket);
  }
};

int port_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

void set_port(sockaddr* address, int port) {
  const auto value = htons(static_cast<std::uint16_t>(port));
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = value;
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = value;
}

// Returns the socket, or -errno.
int open_tcp(const addrinfo& address, int port, bool alone) {
  const int fd = ::socket(address.ai_family, kSocketFlags, 0);
  if (fd < 0) return -errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // "::" alone serves IPv4, too. Beside a socket of IPv4, it must not.
  const int only_v6 = alone ? 0 : 1;
  if (address.ai_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof(only_v6));
  set_port(address.ai_addr, port);
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0)
    return fd;
  const int code = errno;
  ::close(fd);
  return -code;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), "0", &hints, &found);
  // Always this machine (RFC 6761), also if it has no list of hosts.
  if (code != 0 && host == "localhost") code = getaddrinfo("127.0.0.1", "0", &hints, &found);
  if (code != 0) fail<ValueError>("unknown host '{}': {}", host, gai_strerror(code));
  return {found, &freeaddrinfo};
}

Listening listen_tcp(const std::string& host, int port) {
  const Addresses addresses = resolve(host);
  OpenSockets open;
  int chosen = port, last_code = 0;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    const int fd = open_tcp(*a, chosen, addresses->ai_next == nullptr);
    if (fd >= 0) {
      open.sockets.push_back(fd);
      chosen = port_of(fd);
      continue;
    }
    last_code = -fd;
    // A machine without IPv6 still resolves "localhost" to its address of IPv6.
    const bool absent = last_code == EAFNOSUPPORT || last_code == EADDRNOTAVAIL;
    if (!absent) cannot_listen(host_and_port(host, chosen), last_code);
  }
  if (open.sockets.empty()) cannot_listen(host_and_port(host, port), last_code);
  return {std::exchange(open.sockets, {}), chosen, "http://" + host_and_port(host, chosen), ""};
}

bool somebody_listens(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, kSocketFlags, 0);
  if (fd < 0) return true;
  const bool refused =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
      errno == ECONNREFUSED;
  ::close(fd);
  return !refused;
}

bool is_socket_file(const char* path) {
  struct stat s = {};
  return ::lstat(path, &s) == 0 && S_ISSOCK(s.st_mode);
}

Listening listen_unix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    fail<ValueError>("the path of a Unix socket has at most {} bytes: {}",
                     sizeof(address.sun_path) - 1, path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  OpenSockets open{{::socket(AF_UNIX, kSocketFlags, 0)}};
  const int fd = open.sockets[0];
  if (fd < 0) cannot_listen(path, errno);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  int result = ::bind(fd, name, sizeof(address));
  if (result != 0 && errno == EADDRINUSE && is_socket_file(path.c_str()) &&
      !somebody_listens(address)) {
    ::unlink(path.c_str());
    result = ::bind(fd, name, sizeof(address));
  }
  if (result != 0 || ::listen(fd, SOMAXCONN) != 0) cannot_listen(path, errno);
  return {std::exchange(open.sockets, {}), 0, "unix:" + path, path};
}

int environment_number(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace

Listening listen_on(const std::string& host, int port) {
  if (host.ends_with(".sock")) return listen_unix(host);
  if (port < 0 || port > 65535) fail<ValueError>("port must be 0 to 65535, got {}", port);
  return listen_tcp(host, port);
}

Listening adopt_sockets(const std::vector<int>& sockets) {
  Listening result;
  for (const int fd : sockets) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    const bool known = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
    if (!known || listens == 0) fail<ValueError>("descriptor {} is not a listening socket", fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  result.sockets = sockets;
  result.port = port_of(sockets.front());
  result.url = result.port == 0 ? "unix socket"
                                : "http://" + host_and_port(addresses_of({sockets.front()}).front(),
                                                            result.port);
  return result;
}

std::vector<int> inherited_sockets() {
  const bool mine = environment_number("LISTEN_PID") == ::getpid();
  const int n = mine ? environment_number("LISTEN_FDS") : 0;
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  std::vector<int> sockets;
  for (int i = 0; i < n; ++i) sockets.push_back(kFirstInherited + i);
  return sockets;
}

int first_reserved_descriptor() {
  constexpr rlim_t kMinReserve = 4, kMaxReserve = 64;
  rlimit limit = {};
  constexpr rlim_t kMax = std::numeric_limits<int>::max();
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  const rlim_t n = std::min(limit.rlim_cur, kMax);
  const rlim_t reserve = std::clamp(n / 8, kMinReserve, kMaxReserve);
  return static_cast<int>(n > reserve ? n - reserve : 0);
}

void raise_descriptor_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

namespace {

// `get`: getpeername or getsockname. Returns an empty text if it fails.
template <class Get>
std::string name_of(int socket, Get get) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (get(socket, any, &size) != 0) return "";
  if (address.ss_family == AF_UNIX) return kUnixAddress;
  std::array<char, NI_MAXHOST> host;
  const int code = getnameinfo(any, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? host.data() : "";
}

}  // namespace

std::string peer_name(int socket) {
  return name_of(socket, ::getpeername);
}

std::vector<std::string> addresses_of(const std::vector<int>& sockets) {
  std::vector<std::string> addresses;
  for (const int fd : sockets) addresses.push_back(name_of(fd, ::getsockname));
  return addresses;
}

bool has_hung_up(int socket) {
  pollfd state = {};
  state.fd = socket;
  state.events = POLLRDHUP;
  return ::poll(&state, 1, 0) == 1;
}

bool is_broken(int socket) {
  pollfd state = {};
  state.fd = socket;
  return ::poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace weft::http

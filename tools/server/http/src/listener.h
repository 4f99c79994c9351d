#pragma once
// Sockets that listen.

#include <string>
#include <vector>

namespace weft::http {

struct Listening {
  std::vector<int> sockets;  // non-blocking; the caller closes them
  int port = 0;              // 0: a Unix socket
  std::string url;
  std::string unix_path;  // to be removed at the end; empty if there is none
};

// Throws IoError (in use, not permitted) and ValueError (unknown host), naming host and port. A
// socket file that nobody listens on any more is replaced.
Listening listen_on(const std::string& host, int port);
// Takes over sockets that listen already. Throws ValueError if one of them does not.
Listening adopt_sockets(const std::vector<int>& sockets);

// Descriptors of connections should be less than this number: the rest is left to files. A new
// descriptor is the lowest free one, so only a process that is short of them gets a greater one.
int first_reserved_descriptor();

// The address of the other end of a connected socket, without its port: "127.0.0.1", "unix".
std::string peer_name(int socket);

// Whether the other end of a connected socket sends no more.
bool has_hung_up(int socket);
// Whether nothing that is sent can arrive any more.
bool is_broken(int socket);

}  // namespace weft::http

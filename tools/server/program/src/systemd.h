#pragma once
// Reports the state of the service to systemd, without its library.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html

#include <string_view>

namespace weft::server {

// Sends "READY=1", "STOPPING=1", "STATUS=..." as a datagram to NOTIFY_SOCKET. Nothing happens if
// the variable is not set; a socket that does not take it is ignored.
void notify_systemd(std::string_view state);

}  // namespace weft::server

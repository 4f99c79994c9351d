#include "signals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft::server {

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wakes_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || wakes_ < 0) fail<IoError>("cannot wait for signals: {}", strerror(errno));
}

Signals::~Signals() {
  close(signals_);
  close(wakes_);
}

Event Signals::read(int timeout_ms) {
  pollfd descriptors[] = {{signals_, POLLIN, 0}, {wakes_, POLLIN, 0}};
  poll(descriptors, 2, timeout_ms);
  signalfd_siginfo signal{};
  if (::read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo == SIGHUP) return Event::reload;
    from_parent_ = static_cast<pid_t>(signal.ssi_pid) == getppid();
    return Event::terminate;
  }
  std::uint64_t count = 0;
  if (::read(wakes_, &count, sizeof count) == static_cast<ssize_t>(sizeof count))
    return Event::woken;
  return Event::none;
}

Event Signals::wait() {
  for (;;)
    if (const Event event = read(-1); event != Event::none) return event;
}

Event Signals::wait_until(Clock::time_point time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now()).count();
  return read(static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
}

void Signals::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wakes_, &one, sizeof one);
}

}  // namespace weft::server

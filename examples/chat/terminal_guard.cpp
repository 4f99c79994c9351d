#include "chat/terminal_guard.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include <termios.h>
#include <unistd.h>

#include "chat/paste.h"

namespace weft::chat {
namespace {

// Shared with signal handlers, which call only functions that may be called there.
std::atomic<bool> marks_pastes = false, hides_input = false;
std::array<struct sigaction, TerminalGuard::kSignals.size()> earlier_handlers{};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

// Errors are ignored: the terminal may be gone.
void write_marks(bool on) {
  const std::string_view text = on ? kMarkPastes : kMarkNoPastes;
  [[maybe_unused]] const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
}

void set_echo(bool on) {
  termios settings{};
  if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
  if (on)
    settings.c_lflag |= ECHO;
  else
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

// A program in the background would be stopped when it changes the terminal, and the terminal is
// not its own then.
bool in_foreground() {
  return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void revoke_and_raise(int signal) {
  const int error = errno;
  const bool marked = marks_pastes.exchange(false), hidden = hides_input.exchange(false);
  if (in_foreground()) {
    if (marked) write_marks(false);
    if (hidden) set_echo(true);
  }
  struct sigaction now = {};
  for (std::size_t i = 0; i < earlier_handlers.size(); ++i)
    if (TerminalGuard::kSignals[i] == signal) sigaction(signal, &earlier_handlers[i], &now);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, &old);  // ends or stops here
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  sigaction(signal, &now, nullptr);
  if (in_foreground()) {  // continued
    if (marked) write_marks(true);
    if (hidden) set_echo(false);
    marks_pastes = marked;
    hides_input = hidden;
  }
  errno = error;
}

}  // namespace

TerminalGuard::TerminalGuard() {
  struct sigaction action = {};
  action.sa_handler = revoke_and_raise;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &earlier_handlers[i]);
    if (earlier_handlers[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

TerminalGuard::~TerminalGuard() {
  if (marks_pastes) mark_pastes(false);
  echo(true);
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &earlier_handlers[i], nullptr);
}

void TerminalGuard::mark_pastes(bool on) {
  std::fflush(stdout);
  marks_pastes = on;
  write_marks(on);
}

void TerminalGuard::echo(bool on) {
  if (hides_input == !on) return;
  hides_input = !on;
  set_echo(on);
}

}  // namespace weft::chat

#include "chat/keyboard.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "chat/paste.h"
#include "common/program.h"

namespace weft::chat {
namespace {

// After the mark that ends a paste, so long without input means that the paste is over.
constexpr int kPauseMs = 40;
// A Ctrl-C alone, after so long without input, is a key also within a paste: its end was lost.
constexpr std::chrono::milliseconds kLongPause{300};
constexpr std::size_t kChunk = 4096;

int signal_event = -1;
std::array<std::atomic<bool>, NSIG> seen{};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void on_signal(int signal) {
  const int error = errno;
  const std::uint64_t one = 1;
  seen[static_cast<std::size_t>(signal)] = true;
  [[maybe_unused]] const ssize_t n = write(signal_event, &one, sizeof one);
  errno = error;
}

// A key that the terminal settings name.
char key(const termios& settings, int index) {
  const cc_t key = settings.c_cc[index];
  return key == _POSIX_VDISABLE ? '\0' : static_cast<char>(key);
}

}  // namespace

SignalWatch::SignalWatch() {
  if (signal_event < 0) signal_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  drain();
  for (const int signal : kSignals)
    if (take(signal)) raise(signal);
}

int SignalWatch::descriptor() {
  return signal_event;
}

bool SignalWatch::take(int signal) {
  return seen[static_cast<std::size_t>(signal)].exchange(false);
}

void SignalWatch::drain() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = read(signal_event, &count, sizeof count);
}

void SignalWatch::raise_as_before(int signal) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != signal) continue;
    struct sigaction now = {};
    sigaction(signal, &before_[i], &now);
    raise(signal);
    sigaction(signal, &now, nullptr);
  }
}

Keyboard::Keyboard() {
  termios settings{};
  if (tcgetattr(STDIN_FILENO, &settings) != 0 || (settings.c_lflag & ISIG) == 0) return;
  interrupt_key_ = key(settings, VINTR);
  suspend_key_ = key(settings, VSUSP);
  quit_key_ = key(settings, VQUIT);
}

// Appends up to n bytes that have arrived. False at the end of the input, and for errors.
bool Keyboard::read_more(std::string& bytes, std::size_t n) {
  char chunk[kChunk];
  const ssize_t got = read(STDIN_FILENO, chunk, n);
  if (got > 0) bytes.append(chunk, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

Keyboard::Event Keyboard::next(char& byte) {
  for (;;) {
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0},
                      {cli::interrupt_descriptor(), POLLIN, 0},
                      {SignalWatch::descriptor(), POLLIN, 0}};
    const int wait_ms = pending_.empty() ? -1 : 0;
    if (poll(ready, 3, wait_ms) < 0 && errno != EINTR) return Event::end;
    if (cli::interrupted()) return Event::end;
    if (ready[2].revents != 0) {
      SignalWatch::drain();
      return Event::signal;
    }
    // Also set for errors, which read() reports. One byte at a time: what is typed behind the end
    // of the line is for the terminal to interpret.
    if (pending_.empty() && ready[0].revents != 0 && !read_more(pending_, 1)) return Event::end;
    if (pending_.empty()) continue;
    byte = pending_.front();
    pending_.erase(0, 1);
    return Event::byte;
  }
}

std::optional<std::string> Keyboard::paste() {
  using Clock = std::chrono::steady_clock;
  std::string bytes;
  bytes.swap(pending_);
  std::size_t end = bytes.rfind(kPasteEnd);
  for (;;) {
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {cli::interrupt_descriptor(), POLLIN, 0}};
    const Clock::time_point before = Clock::now();
    const int n = poll(ready, 2, end == std::string::npos ? -1 : kPauseMs);
    if (cli::interrupted() || (n < 0 && errno != EINTR)) return std::nullopt;
    if (n == 0) break;
    if (ready[0].revents == 0) continue;
    const std::size_t old_size = bytes.size();
    if (!read_more(bytes, kChunk)) {
      if (end == std::string::npos) return std::nullopt;
      break;
    }
    if (end == std::string::npos && interrupt_key_ != 0 && bytes.size() == old_size + 1 &&
        bytes.back() == interrupt_key_ && Clock::now() - before > kLongPause) {
      pending_ = interrupt_key_;
      return std::nullopt;
    }
    const std::size_t overlap = std::min(old_size, kPasteEnd.size() - 1);
    const std::size_t found = std::string_view(bytes).substr(old_size - overlap).rfind(kPasteEnd);
    if (found != std::string::npos) end = found + old_size - overlap;
  }
  pending_ = bytes.substr(end + kPasteEnd.size());
  bytes.resize(end);
  return bytes;
}

int Keyboard::take_signal_key() {
  int n_bytes = 0;
  if (ioctl(STDIN_FILENO, FIONREAD, &n_bytes) != 0 || n_bytes <= 0) return 0;
  read_more(pending_, std::min(static_cast<std::size_t>(n_bytes), kChunk));
  if (pending_.find(kPasteBegin) != std::string::npos) return 0;
  const std::pair<char, int> keys[] = {
      {interrupt_key_, SIGINT}, {suspend_key_, SIGTSTP}, {quit_key_, SIGQUIT}};
  for (const auto& [key, signal] : keys) {
    const std::size_t at = key == 0 ? std::string::npos : pending_.find(key);
    if (at == std::string::npos) continue;
    pending_.erase(0, at + 1);  // as the terminal would
    return signal;
  }
  return 0;
}

void Keyboard::discard() {
  pending_.clear();
  tcflush(STDIN_FILENO, TCIFLUSH);
}

}  // namespace weft::chat

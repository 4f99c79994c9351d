#pragma once
// What the program asks of the terminal between and in lines: marks around pasted texts, and no
// echo of what is typed during a reply. Signals that end or stop the program revoke both first.

#include <array>
#include <csignal>

namespace weft::chat {

// One at a time. Its handlers stay as long as it exists; signals that the program ignores stay
// ignored. REQUIRES: stdin and stdout are a terminal.
class TerminalGuard {
 public:
  TerminalGuard();
  ~TerminalGuard();  // revokes both
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;

  void mark_pastes(bool on);
  // REQUIRES: the terminal has its own modes, not those of a line editor.
  void echo(bool on);

  static constexpr std::array kSignals{SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};
};

}  // namespace weft::chat

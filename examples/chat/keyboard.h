#pragma once
// What comes from the terminal while a line is edited: bytes, pasted texts, and signals.

#include <array>
#include <csignal>
#include <optional>
#include <string>

namespace weft::chat {

// Catches the signals that matter to a line editor, as long as it exists. One at a time.
// Those that the program ignores stay ignored. At the end, signals that nobody took are raised
// again for the handlers of before.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  static constexpr std::array kSignals{SIGTSTP, SIGCONT, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT};

  static int descriptor();           // readable if a signal may have come
  static bool take(int signal);      // whether it has come since the last call
  static void drain();               // makes the descriptor unreadable
  void raise_as_before(int signal);  // with the handler of before, in this thread

 private:
  std::array<struct sigaction, kSignals.size()> before_{};
};

// Bytes of stdin.
class Keyboard {
 public:
  Keyboard();

  enum class Event { byte, signal, end };  // end: of the input, or Ctrl-C
  // Waits for a byte, or for a signal that SignalWatch catches.
  Event next(char& byte);
  // The bytes up to the mark that ends a paste. What arrives in one go with the mark and is
  // followed by another mark is part of the paste: terminals that pass on marks in pasted texts
  // exist, and such a text must not reach the editor as keys. nullopt at the end of the input, or
  // after a lone Ctrl-C.
  std::optional<std::string> paste();
  void discard();  // what was typed ahead
  // After a line, with the terminal's own modes: takes what arrived between the end of the line and
  // the change of modes, and returns the signal of a key in it, or 0. The terminal did not see it.
  int take_signal_key();

  // The keys of the terminal for a signal; 0 if there is none.
  char interrupt_key() const { return interrupt_key_; }
  char suspend_key() const { return suspend_key_; }
  char quit_key() const { return quit_key_; }

 private:
  bool read_more(std::string& bytes, std::size_t n);

  std::string pending_;  // behind a paste
  char interrupt_key_ = 0, suspend_key_ = 0, quit_key_ = 0;
};

}  // namespace weft::chat

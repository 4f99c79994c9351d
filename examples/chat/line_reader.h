#pragma once
// Reads messages of the user. On a terminal with line editing and a history that persists between
// runs; from a pipe or a file as plain lines, without prompts.

#include <memory>
#include <optional>
#include <string>

namespace weft::chat {

// REQUIRES: cli::set_terminal_locale() was called.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool interactive() const;

  // A message: one line; or several if a line ends with a backslash, or between two lines with
  // """. nullopt at the end of the input (Ctrl-D). Ctrl-C discards the typed text and prompts
  // again. REQUIRES: cli::catch_interrupts(every) was called.
  std::optional<std::string> message();

  // After a Ctrl-C, how to leave: a line the first time on a terminal, otherwise empty.
  std::string leave_hint();

 private:
  std::optional<std::string> line(const char* prompt);
  std::optional<std::string> block(std::string first);

  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool hinted_ = false;
};

}  // namespace weft::chat

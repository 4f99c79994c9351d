#pragma once
// Reads messages of the user: from a terminal with a line editor; from a pipe or a file as plain
// lines, without prompts. A byte order mark is not part of a line.

#include <memory>
#include <optional>
#include <string>

#include "chat/line_editor.h"

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
  // """. A text that is pasted into a line is part of it with all of its lines, and neither a
  // command nor one of these marks: a slash with which it begins is doubled. nullopt at the end of
  // the input (Ctrl-D). Ctrl-C discards the typed text and prompts again. REQUIRES:
  // cli::catch_interrupts(every) was called.
  std::optional<std::string> message();

  // After a Ctrl-C, how to leave: a line the first time on a terminal, otherwise empty.
  std::string leave_hint();

 private:
  std::optional<EditedLine> line(const char* prompt);
  std::string continued(EditedLine line);
  std::string block(const EditedLine& line);

  std::unique_ptr<LineEditor> editor_;  // on a terminal
  bool dropped_ = false;                // the message, by Ctrl-C
  bool hinted_ = false;
};

}  // namespace weft::chat

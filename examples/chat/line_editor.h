#pragma once
// The line editor on a terminal: libedit with pasted texts, stops and resizes, and a history that
// persists between runs.

#include <memory>
#include <optional>
#include <string>

namespace weft::chat {

struct EditedLine {
  std::string text;  // line ends are those of pasted texts
  // How it begins or ends was pasted, so it is text. Then a slash at the beginning is doubled.
  bool begins_pasted = false, ends_pasted = false;
};

// REQUIRES: cli::set_terminal_locale() was called; stdin and stdout are a terminal.
class LineEditor {
 public:
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  bool usable() const;
  // nullopt at the end of the input (Ctrl-D), and after Ctrl-C (cli::interrupted()).
  // REQUIRES: usable(); cli::catch_interrupts(every) was called.
  std::optional<EditedLine> edit(const char* prompt);
  // After Ctrl-C: forgets the line, and what was typed ahead.
  void drop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::chat

#pragma once
// What programs print on a terminal. Texts may come from files and models; a terminal would act
// upon the control characters in them: set its title, fill the clipboard, overwrite lines. So
// std::cout and std::cerr show these characters escaped (terminal_safe() in weft/base/printable.h)
// if they are a terminal. Pipes and files get all bytes as they are.

#include <iosfwd>
#include <string>
#include <string_view>

namespace weft::cli {

// Escapes a text that comes in pieces, which may end within a character. Not for several threads at
// a time.
class TerminalText {
 public:
  // What to send for the next piece. An unfinished character at its end, or a CR that may be part
  // of a line end, is held back.
  std::string next(std::string_view piece);
  // The rest. The next piece begins another text.
  std::string end();

 private:
  std::string held_;
};

// Makes std::cout and std::cerr escape from here on, if they are a terminal. run_program() calls
// it before the program prints. Any number of threads may print.
void guard_terminals();

// std::ios::sync_with_stdio(false), after which terminals are guarded as before.
void use_own_buffers();

// Moves to the first column and clears the line.
inline constexpr std::string_view kClearLine = "\r\x1b[K";

// Sends a control sequence of the program itself to std::cout or std::cerr, and flushes.
// Throws nothing; the state of the stream says whether it failed.
void send_controls(std::ostream& stream, std::string_view sequence);

}  // namespace weft::cli

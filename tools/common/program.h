#pragma once
// Code shared by all programs: flags, errors, closed pipes, Ctrl-C.

#include <atomic>
#include <functional>
#include <string_view>

#include "weft/base/clock.h"
#include "weft/base/error.h"

namespace weft::cli {

inline constexpr int kError = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kInterrupted = 130;  // the exit code of shells for SIGINT

// Flags that cannot be combined or have invalid values: exit code 2.
class UsageError : public Error {
  using Error::Error;
};

// Calls `body` and returns its exit code. Exceptions, and output that could not be written (a full
// disk), become "NAME: message" on stderr and exit code 1. If the reader has closed the pipe, the
// exit code is 0.
int run_program(std::string_view name, const std::function<int()>& body);

// For a program that reports a truncated mapped file to its users (weft/files/mapping_guard.h), and
// continues. The exit code of others is then 1.
void report_missing_pages_itself();

// Writes to stdout and flushes; on a terminal, control characters are shown escaped
// (common/terminal_output.h). Throws IoError; OutputClosed if the reader has closed the pipe.
void print_now(std::string_view text);
struct OutputClosed {};

// Ends a process that was another rank than 0, with exit code 0.
struct RankEnded {};

using weft::Clock;
using weft::seconds_since;

// Becomes true at Ctrl-C (SIGINT) once catch_interrupts() was called.
const std::atomic<bool>& interrupted();
// The same flag, writable.
std::atomic<bool>& interrupt_flag();
enum class Interrupts {
  once,   // a second Ctrl-C ends the process at once
  every,  // each one sets interrupted()
};
void catch_interrupts(Interrupts which);
void clear_interrupt();
// Readable while interrupted(): for poll() beside another descriptor. REQUIRES: catch_interrupts().
int interrupt_descriptor();
// Progress functions that continue until Ctrl-C. The second one shows on a terminal's stderr how
// far loading is, if it takes long.
bool continue_unless_interrupted(double progress);
bool load_progress(double progress);

}  // namespace weft::cli

#include "common/program.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/files/mapped_file.h"
#include "weft/files/mapping_guard.h"

#include "common/terminal_output.h"

namespace weft::cli {
namespace {

std::atomic<bool> interrupt_seen{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

int interrupt_event = -1;
bool reports_missing_pages = false;

// The progress of loading is shown if it takes longer than kLong.
constexpr std::chrono::milliseconds kLong{500}, kShownEvery{100};

void on_interrupt(int) {
  const int error = errno;
  const std::uint64_t one = 1;
  interrupt_seen = true;
  [[maybe_unused]] const ssize_t n = write(interrupt_event, &one, sizeof one);
  errno = error;
}

[[noreturn]] void output_failed(int error) {
  if (error == EPIPE) throw OutputClosed{};
  fail<IoError>("cannot write the output: {}", std::strerror(error));
}

void flush_output() {
  send_controls(std::cout, "");
  const bool stream_ok = static_cast<bool>(std::cout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !stream_ok) output_failed(errno);
}

// Asks the system to schedule this process often and briefly instead of rarely and for long. With
// other busy processes, the workers then wait less for a worker that was preempted. The process's
// share of the CPU does not change. Linux 6.12 and later; older kernels refuse it, which only costs
// speed. https://docs.kernel.org/scheduler/sched-eevdf.html
void request_short_timeslice() {
#if defined(SYS_sched_setattr) && defined(SYS_sched_getattr)
  constexpr std::uint64_t kTurn = 100'000;  // ns, the minimum
  struct {                                  // the kernel's sched_attr, which libc does not declare
    std::uint32_t size, sched_policy;
    std::uint64_t sched_flags;
    std::int32_t sched_nice;
    std::uint32_t sched_priority;
    std::uint64_t sched_runtime, sched_deadline, sched_period;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.sched_policy != SCHED_OTHER) return;
  attributes.sched_runtime = kTurn;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

}  // namespace

int run_program(std::string_view name, const std::function<int()>& body) {
  // Writing to a closed pipe or past a file size limit shall fail with an error instead of killing
  // the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  install_mapping_guard();
  guard_terminals();
  request_short_timeslice();
  try {
    const int code = body();
    flush_output();
    if (code == 0 && n_missing_pages() > 0 && !reports_missing_pages)
      refuse_missing_pages(first_failed_mapping());
    return code;
  } catch (const OutputClosed&) {
    return 0;
  } catch (const RankEnded&) {
    return 0;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::fflush(stdout);
    if (interrupt_seen) return kInterrupted;
    std::cerr << name << ": " << error.what() << '\n';
    return dynamic_cast<const UsageError*>(&error) ? kWrongUsage : kError;
  }
}

void report_missing_pages_itself() {
  reports_missing_pages = true;
}

void print_now(std::string_view text) {
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  if (!std::cout || std::fflush(stdout) != 0) output_failed(errno);
}

std::atomic<bool>& interrupt_flag() {
  return interrupt_seen;
}

const std::atomic<bool>& interrupted() {
  return interrupt_seen;
}

void catch_interrupts(Interrupts which) {
  if (interrupt_event < 0) interrupt_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  // Without SA_RESTART a blocking read ends, too. A program that continues after Ctrl-C waits for
  // its terminal with poll(), and its writes must not be interrupted.
  if (which == Interrupts::once)
    action.sa_flags = static_cast<int>(SA_RESETHAND);
  else if (isatty(STDIN_FILENO))
    action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

void clear_interrupt() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = read(interrupt_event, &count, sizeof count);
  interrupt_seen = false;
}

int interrupt_descriptor() {
  return interrupt_event;
}

bool continue_unless_interrupted(double) {
  return !interrupt_seen;
}

bool load_progress(double progress) {
  static Clock::time_point start, shown;
  static const bool terminal = isatty(STDERR_FILENO);
  const auto now = Clock::now();
  if (progress == 0) start = shown = now;
  if (!terminal || interrupt_seen) return !interrupt_seen;
  const bool on_screen = shown != start;
  if (progress == 1 && on_screen) {
    send_controls(std::cerr, kClearLine);
  } else if (progress < 1 && now - start > kLong && now - shown > kShownEvery) {
    shown = now;
    send_controls(std::cerr, "\r");
    std::cerr << fmt::format("loading weights {:3.0f} %", 100 * progress) << std::flush;
  }
  return true;
}

}  // namespace weft::cli

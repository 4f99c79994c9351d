#include "reports/progress.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "common/terminal_output.h"

namespace weft::tools {
namespace {

constexpr std::chrono::milliseconds kOnTerminal{100}, kElsewhere{10000};

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

}  // namespace

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO)),
      start_(Clock::now()),
      shown_(start_ - kElsewhere) {}

Progress::~Progress() {
  if (on_screen_) cli::send_controls(std::cerr, cli::kClearLine);
}

void Progress::show(std::int64_t done, const std::string& text) {
  const auto now = Clock::now();
  if (now - shown_ < (terminal_ ? kOnTerminal : kElsewhere)) return;
  shown_ = now;
  const std::chrono::duration<double> taken = now - start_;
  std::string line = fmt::format("{} {}/{}: {}", what_, done, total_, text);
  if (done > 0) {
    const double left =
        taken.count() / static_cast<double>(done) * static_cast<double>(total_ - done);
    line += fmt::format(", {} left", duration(std::max(left, 0.0)));
  }
  on_screen_ = terminal_;
  if (terminal_) cli::send_controls(std::cerr, cli::kClearLine);
  std::cerr << line << (terminal_ ? "" : "\n") << std::flush;
}

}  // namespace weft::tools

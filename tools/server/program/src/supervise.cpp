#include "supervise.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"

#include "common/program.h"

extern char** environ;

namespace weft::server {
namespace {

constexpr std::chrono::seconds kShortestPause{1}, kLongestPause{30};
// A command that ran for this long has not failed at its start.
constexpr std::chrono::seconds kLongRun{60};

constexpr std::string_view kShellCharacters = "|&;<>()$`*?[]{}~#!\n";

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

pid_t start(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail<IoError>("cannot start {}: {}", command.front(), std::strerror(error));
  return child;
}

// One start of the command.
struct Outcome {
  int code = 0;
  int signal = 0;  // that ended it; 0: none
  std::string text() const {
    return signal != 0 ? fmt::format("was ended by signal {} ({})", signal, strsignal(signal))
                       : fmt::format("ended with exit code {}", code);
  }
};

std::optional<Outcome> outcome_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  if (WIFSIGNALED(status)) return Outcome{128 + WTERMSIG(status), WTERMSIG(status)};
  return Outcome{WEXITSTATUS(status)};
}

// Whether a signal asks a server to end.
bool ends(int signal) {
  return signal == SIGTERM || signal == SIGINT;
}

// Waits for the child and passes signals on. Sets `asked` if it was asked to end.
Outcome wait_for(pid_t child, const sigset_t& signals, bool& asked) {
  for (;;) {
    if (const auto outcome = outcome_of(child)) return *outcome;
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal <= 0 || signal == SIGCHLD) continue;
    asked |= ends(signal);
    kill(child, signal);
  }
}

// Returns false if a signal asks to end meanwhile.
bool pause(std::chrono::seconds time, const sigset_t& signals) {
  const auto end = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now());
    if (left.count() <= 0) return true;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec wait{seconds.count(), (left - seconds).count()};
    if (ends(sigtimedwait(&signals, nullptr, &wait))) return false;
  }
}

// Adds the text in quotes that begins at `at`, and moves behind it.
void read_quoted(std::string_view command, std::size_t& at, std::string& word) {
  const char quote = command[at++];
  for (; at < command.size() && command[at] != quote; ++at) {
    const char c = command[at];
    if (quote == '"' && (c == '$' || c == '`'))
      fail<ValueError>("'{}' is not expanded: the command is not run by a shell", c);
    if (quote == '"' && c == '\\' && at + 1 < command.size() &&
        (command[at + 1] == '"' || command[at + 1] == '\\'))
      ++at;
    word += command[at];
  }
  if (at == command.size()) fail<ValueError>("a quote {} is not closed", quote);
  ++at;
}

}  // namespace

std::vector<std::string> split_words(std::string_view command) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  for (std::size_t at = 0; at < command.size();) {
    const char c = command[at];
    if (c == ' ' || c == '\t') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      ++at;
      continue;
    }
    if (!word) word.emplace();
    if (c == '\'' || c == '"') {
      read_quoted(command, at, *word);
      continue;
    }
    if (kShellCharacters.find(c) != kShellCharacters.npos)
      fail<ValueError>("'{}' has no meaning: the command is not run by a shell", c);
    if (c == '\\' && ++at == command.size()) fail<ValueError>("nothing follows the last \\");
    *word += command[at++];
  }
  if (word) words.push_back(*word);
  return words;
}

int supervise(const std::vector<std::string>& command, bool restart) {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::chrono::seconds next_pause = kShortestPause;
  for (;;) {
    bool asked = false;
    const auto begin = Clock::now();
    const Outcome outcome = wait_for(start(command), signals, asked);
    if (!restart || asked || outcome.code == 0 || outcome.code == cli::kWrongUsage)
      return outcome.code;
    if (Clock::now() - begin >= kLongRun) next_pause = kShortestPause;
    std::cerr << fmt::format("weft serve: {} {}; starting it again in {} s\n", command.front(),
                             outcome.text(), next_pause.count())
              << std::flush;
    if (!pause(next_pause, signals)) return outcome.code;
    next_pause = std::min(2 * next_pause, kLongestPause);
  }
}

}  // namespace weft::server

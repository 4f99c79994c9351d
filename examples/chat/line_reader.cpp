#include "chat/line_reader.h"

#include <cerrno>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include <histedit.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "weft/base/text.h"

#include "common/program.h"

namespace weft::chat {
namespace {

constexpr const char* kPrompt = "> ";
constexpr const char* kMore = ". ";
constexpr const char* kFence = "\"\"\"";
constexpr int kHistoryLength = 1000;

// $XDG_STATE_HOME/weft/chat_history, by default below ~/.local/state; empty if there is no
// place for it. https://specifications.freedesktop.org/basedir-spec
std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state && *state == '/') {
    folder = state;
  } else if (home && *home == '/') {
    folder = std::filesystem::path(home) / ".local/state";
  } else {
    return "";
  }
  folder /= "weft";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? "" : (folder / "chat_history").string();
}

}  // namespace

struct LineReader::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string history_file;
  const char* prompt = kPrompt;
  bool dropped = false;  // Ctrl-C

  Impl() {
    editor = el_init("weft-chat", stdin, stdout, stderr);
    if (!editor) return;
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, &show_prompt);
    el_set(editor, EL_GETCFN, &read_character);
    el_set(editor, EL_EDITOR, "emacs");
    // Otherwise Ctrl-C flushes the terminal's queue, and a read after poll() would block.
    el_set(editor, EL_SETTY, "-d", "+noflsh", nullptr);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    open_history();
  }

  ~Impl() {
    if (history) {
      HistEvent event;
      if (!history_file.empty()) ::history(history, &event, H_SAVE, history_file.c_str());
      history_end(history);
    }
    if (editor) el_end(editor);
  }

  void open_history() {
    history = history_init();
    if (!history) return;
    HistEvent event;
    ::history(history, &event, H_SETSIZE, kHistoryLength);
    ::history(history, &event, H_SETUNIQUE, 1);
    history_file = history_path();
    if (!history_file.empty()) ::history(history, &event, H_LOAD, history_file.c_str());
    el_set(editor, EL_HIST, ::history, history);
  }

  void remember(const char* line) {
    HistEvent event;
    if (history) ::history(history, &event, H_ENTER, line);
  }

  static Impl& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Impl*>(self);
  }
  // Reads a character of the locale from the terminal; -1 after Ctrl-C. libedit's own function
  // would miss a Ctrl-C between two reads.
  static int read_character(EditLine*, wchar_t* character) {
    std::mbstate_t state{};
    for (;;) {
      pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {cli::interrupt_descriptor(), POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 && errno != EINTR) return -1;
      if (cli::interrupted()) return -1;
      if (ready[0].revents == 0) continue;  // also set for errors, which read() reports
      char byte = 0;
      const ssize_t n = read(STDIN_FILENO, &byte, 1);
      if (n <= 0) return static_cast<int>(n);
      const std::size_t status = std::mbrtowc(character, &byte, 1, &state);
      if (status == static_cast<std::size_t>(-1)) state = {};  // invalid bytes are dropped
      if (status <= 1) return 1;
    }
  }
  static const char* show_prompt(EditLine* editor) { return of(editor).prompt; }
};

LineReader::LineReader() {
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) impl_ = std::make_unique<Impl>();
  if (impl_ && !impl_->editor) impl_.reset();
}

LineReader::~LineReader() = default;

bool LineReader::interactive() const {
  return impl_ != nullptr;
}

std::optional<std::string> LineReader::line(const char* prompt) {
  std::string text;
  if (!impl_) {
    if (!std::getline(std::cin, text)) return std::nullopt;
    return std::string(without_line_end(text));
  }
  impl_->prompt = prompt;
  int count = 0;
  const char* got = el_gets(impl_->editor, &count);
  if (!got && cli::interrupted()) {
    impl_->dropped = true;
    cli::clear_interrupt();
    el_reset(impl_->editor);
    tcflush(STDIN_FILENO, TCIFLUSH);
    return "";
  }
  if (!got || count <= 0) return std::nullopt;
  text = got;
  if (text.find_first_not_of(" \t\n") != std::string::npos) impl_->remember(got);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<std::string> LineReader::message() {
  const auto dropped = [this] { return impl_ && impl_->dropped; };
  for (;;) {
    if (impl_) impl_->dropped = false, cli::clear_interrupt();
    std::optional<std::string> text = line(kPrompt);
    if (!text) return std::nullopt;
    if (text->starts_with(kFence)) {
      text = block(text->substr(std::string_view(kFence).size()));
    } else {
      while (!dropped() && text->ends_with('\\')) {
        text->back() = '\n';
        const auto more = line(kMore);
        if (!more) break;
        *text += *more;
      }
    }
    if (!dropped()) return text;
    std::cout << '\n' << std::flush;
    std::cerr << leave_hint();
  }
}

std::string LineReader::leave_hint() {
  return interactive() && !std::exchange(hinted_, true) ? "[Ctrl-D or /quit exits]\n" : "";
}

// The rest of a block that `first` began, up to the line that ends with the fence.
std::optional<std::string> LineReader::block(std::string first) {
  std::string text = std::move(first);
  while (!text.ends_with(kFence)) {
    const auto more = line(kMore);
    if (!more || (impl_ && impl_->dropped)) return text;
    text += (text.empty() ? "" : "\n") + *more;
  }
  text.resize(text.size() - std::string_view(kFence).size());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace weft::chat

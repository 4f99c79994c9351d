#include "chat/line_editor.h"

#include <algorithm>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include "weft/base/folders.h"

#include "chat/keyboard.h"
#include "chat/paste.h"
#include "chat/terminal_guard.h"
#include "common/program.h"
#include "common/terminal.h"
#include "common/terminal_output.h"

namespace weft::chat {
namespace {

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
  make_private_folders(folder.string(), error);
  return error ? "" : (folder / "chat_history").string();
}

// Bytes that arrive while a reply is computed are interpreted by the terminal; while a line is
// edited, the editor gets them as they are. So a pasted Ctrl-C does not end the paste.
constexpr const char* kRawBytes[] = {"-isig", "-icrnl", "-inlcr", "-ixon", "+noflsh"};

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string history_file;
  const char* prompt = "";
  Keyboard keyboard;
  TerminalGuard terminal;
  SignalWatch* signals = nullptr;  // while a line is edited
  std::size_t columns = 0;         // width of the terminal when the line was drawn
  bool can_mark = false;           // the terminal can mark pastes
  bool marks = false;              // and was asked to
  std::string first_paste;         // the one that the line begins with
  std::string last_paste;

  Impl() {
    const char* type = std::getenv("TERM");
    can_mark = type && *type && std::string_view(type) != "dumb";
    editor = el_init("weft-chat", stdin, stdout, stderr);
    if (!editor) return;
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, &show_prompt);
    el_set(editor, EL_GETCFN, &read_character);
    el_set(editor, EL_EDITOR, "emacs");
    for (const char* mode : kRawBytes) el_set(editor, EL_SETTY, "-d", mode, nullptr);
    el_set(editor, EL_ADDFN, "weft-paste", "insert a pasted text", &insert_paste);
    el_set(editor, EL_ADDFN, "weft-ignore", "do nothing", &ignore);
    bind("^R", "em-inc-search-prev");
    bind("^I", "ed-insert");
    bind(std::string(kPasteBegin).c_str(), "weft-paste");
    bind(std::string(kPasteEnd).c_str(), "weft-ignore");
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

  void bind(const char* keys, const char* function) {
    el_set(editor, EL_BIND, keys, function, nullptr);
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

  void remember(const std::string& line) {
    HistEvent event;
    if (history) ::history(history, &event, H_ENTER, (line + "\n").c_str());
  }

  std::optional<EditedLine> edit();

  void mark_pastes(bool on) {
    if (!can_mark || marks == on) return;
    marks = on;
    terminal.mark_pastes(on);
  }

  void begin_editing() {
    el_set(editor, EL_PREP_TERM, 0);  // it may think that nobody changed the modes since
    el_set(editor, EL_PREP_TERM, 1);
    cli::send_controls(std::cout, can_mark ? "\r\x1b[J" : "\r");
    el_set(editor, EL_REFRESH);
    marks = false;  // the shell may have asked for something else
    mark_pastes(true);
  }
  void end_editing() {
    mark_pastes(false);
    el_set(editor, EL_PREP_TERM, 0);
  }

  // The screen has another width: draws the line again. Most terminals have wrapped it again, some
  // have not; the lesser number of rows never erases what is above the prompt.
  void resize() {
    const LineInfoW* line = el_wline(editor);
    const std::wstring_view before(line->buffer,
                                   static_cast<std::size_t>(line->cursor - line->buffer));
    const std::size_t first = std::string_view(prompt).size();
    const std::size_t now = cli::terminal_columns(STDOUT_FILENO);
    const std::size_t up =
        std::min(row_after(before, first, columns), row_after(before, first, now));
    columns = now;
    if (can_mark) {
      if (up > 0) cli::send_controls(std::cout, fmt::format("\x1b[{}A", up));
      cli::send_controls(std::cout, "\r\x1b[J");
    } else {
      cli::print_now("\n");
    }
    el_resize(editor);
    el_set(editor, EL_REFRESH);
  }

  // Stops the program as the terminal would: with all programs of its group if a key asks for it.
  void suspend(bool group) {
    end_editing();
    if (group) signal_others(SIGTSTP);
    signals->raise_as_before(SIGTSTP);
    SignalWatch::take(SIGCONT);
    begin_editing();
  }

  void signal_others(int signal) {
    struct sigaction ignore = {}, now = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, &now);
    kill(0, signal);
    sigaction(signal, &now, nullptr);
  }

  void attend_signals() {
    for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) {
      if (!SignalWatch::take(signal)) continue;
      end_editing();
      signals->raise_as_before(signal);
      begin_editing();
    }
    if (SignalWatch::take(SIGTSTP)) suspend(/*group=*/false);
    if (SignalWatch::take(SIGCONT)) begin_editing();
    if (SignalWatch::take(SIGWINCH)) resize();
  }

  // Whether the byte is a key for a signal, which is raised.
  bool raises_signal(char byte) {
    if (byte == 0) return false;
    if (byte == keyboard.interrupt_key()) {
      kill(0, SIGINT);
    } else if (byte == keyboard.suspend_key()) {
      suspend(/*group=*/true);
    } else if (byte == keyboard.quit_key()) {
      signal_others(SIGQUIT);
      raise(SIGQUIT);
    } else {
      return false;
    }
    return true;
  }

  static Impl& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Impl*>(self);
  }
  // Reads a character of the locale from the terminal; -1 after Ctrl-C. libedit's own function
  // would miss a Ctrl-C between two reads.
  static int read_character(EditLine* editor, wchar_t* character) {
    Impl& self = of(editor);
    const LineInfoW* line = el_wline(editor);
    if (line->buffer == line->lastchar) self.first_paste.clear(), self.last_paste.clear();
    self.mark_pastes(true);  // behind the prompt
    std::mbstate_t state{};
    for (;;) {
      char byte = 0;
      switch (self.keyboard.next(byte)) {
        case Keyboard::Event::end:
          return cli::interrupted() ? -1 : 0;
        case Keyboard::Event::signal:
          self.attend_signals();
          continue;
        case Keyboard::Event::byte:
          break;
      }
      if (self.raises_signal(byte)) continue;
      const std::size_t status = std::mbrtowc(character, &byte, 1, &state);
      if (status == static_cast<std::size_t>(-1)) state = {};  // invalid bytes are dropped
      if (status <= 1) return 1;
    }
  }
  static unsigned char insert_paste(EditLine* editor, int) {
    Impl& self = of(editor);
    const auto bytes = self.keyboard.paste();
    if (!bytes) return CC_NORM;  // the next read says why
    std::string text = pasted_text(*bytes);
    const LineInfoW* line = el_wline(editor);
    const bool first = line->cursor == line->buffer;
    if (text.empty()) return CC_NORM;
    if (el_insertstr(editor, text.c_str()) != 0) {
      cli::print_now("\r\n[the pasted text is lost: the editor cannot hold it]\r\n");
      return CC_REDISPLAY;
    }
    if (first) self.first_paste = text;
    self.last_paste = std::move(text);
    return CC_REFRESH;
  }
  static unsigned char ignore(EditLine*, int) { return CC_NORM; }
  static const char* show_prompt(EditLine* editor) { return of(editor).prompt; }
};

std::optional<EditedLine> LineEditor::Impl::edit() {
  SignalWatch watch;
  signals = &watch;
  terminal.echo(true);
  columns = cli::terminal_columns(STDOUT_FILENO);
  el_resize(editor);  // the screen may have changed during a reply
  marks = false;      // and after a stop the shell may have asked for something else
  int count = 0;
  const char* got = el_gets(editor, &count);
  // The terminal goes on marking pastes: one during the reply is one text of the next line. What is
  // typed then appears in that line, and not in the reply.
  signals = nullptr;
  if (!got || count <= 0) return std::nullopt;
  terminal.echo(false);
  EditedLine line{got};
  if (line.text.ends_with('\n')) line.text.pop_back();
  line.begins_pasted = !first_paste.empty() && line.text.starts_with(first_paste);
  line.ends_pasted = !last_paste.empty() && line.text.ends_with(last_paste);
  // A slash that was pasted begins no command, also if the line is taken from the history.
  if (line.begins_pasted && line.text.starts_with('/')) line.text.insert(0, 1, '/');
  if (line.text.find_first_not_of(" \t\n") != std::string::npos) remember(line.text);
  return line;
}

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {}

LineEditor::~LineEditor() = default;

bool LineEditor::usable() const {
  return impl_->editor != nullptr;
}

std::optional<EditedLine> LineEditor::edit(const char* prompt) {
  impl_->prompt = prompt;
  std::optional<EditedLine> line = impl_->edit();
  if (line) {
    if (const int signal = impl_->keyboard.take_signal_key(); signal != 0) kill(0, signal);
  }
  return line;
}

void LineEditor::drop() {
  el_reset(impl_->editor);
  impl_->keyboard.discard();
}

}  // namespace weft::chat

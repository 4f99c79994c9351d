#include "common/terminal_output.h"

#include <iostream>
#include <mutex>
#include <streambuf>
#include <utility>

#include <unistd.h>

#include "weft/base/no_destructor.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"

namespace weft::cli {
namespace {

// Escapes what is written, and passes it on to the buffer that the stream had before.
class GuardedBuffer : public std::streambuf {
 public:
  void attach(std::ostream& stream) {
    if (stream.rdbuf() == this) return;
    target_ = stream.rdbuf();
    const std::ios::iostate state = stream.rdstate();
    stream.rdbuf(this);
    stream.clear(state);
  }

  bool send(std::string_view sequence) {
    const std::lock_guard lock(mutex_);
    return pass_on(text_.end()) && pass_on(sequence);
  }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* bytes, std::streamsize n) override {
    const std::lock_guard lock(mutex_);
    return pass_on(text_.next({bytes, static_cast<std::size_t>(n)})) ? n : 0;
  }
  int sync() override {
    const std::lock_guard lock(mutex_);
    return target_->pubsync();
  }

 private:
  bool pass_on(std::string_view text) {
    const auto n = static_cast<std::streamsize>(text.size());
    return target_->sputn(text.data(), n) == n;
  }

  std::mutex mutex_;  // guards all below
  std::streambuf* target_ = nullptr;
  TerminalText text_;
};

// They are used until the process ends: the standard library flushes its streams last.
GuardedBuffer& buffer_of(const std::ostream& stream) {
  static NoDestructor<GuardedBuffer> output, errors;
  return &stream == &std::cout ? *output : *errors;
}

}  // namespace

std::string TerminalText::next(std::string_view piece) {
  std::string text = std::exchange(held_, {});
  text += piece;
  std::size_t end = text.size() - unfinished_utf8(text);
  if (end == text.size() && text.ends_with('\r')) --end;
  held_ = text.substr(end);
  text.resize(end);
  return terminal_safe(text);
}

std::string TerminalText::end() {
  return terminal_safe(std::exchange(held_, {}));
}

void guard_terminals() {
  if (isatty(STDOUT_FILENO) != 0) buffer_of(std::cout).attach(std::cout);
  if (isatty(STDERR_FILENO) != 0) buffer_of(std::cerr).attach(std::cerr);
}

void use_own_buffers() {
  std::ios::sync_with_stdio(false);
  guard_terminals();
}

void send_controls(std::ostream& stream, std::string_view sequence) {
  GuardedBuffer& buffer = buffer_of(stream);
  if (stream.rdbuf() != &buffer)
    stream << sequence;
  else if (!buffer.send(sequence))
    stream.setstate(std::ios::badbit);
  stream.flush();
}

}  // namespace weft::cli

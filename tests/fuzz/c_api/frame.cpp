#include "c_api/frame.h"

#include <cstdio>
#include <cstdlib>

namespace weft_fuzz {

const char* current_function = "";

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", current_function, what);
  std::abort();
}

Frame::~Frame() {
  if (!lends_) std::free(lent_);
}

void* Frame::allocate(std::size_t size) {
  // Never an empty array, whose address could be any.
  return memory_.emplace_back(std::make_unique<std::byte[]>(size + (size == 0))).get();
}

void* Frame::out(std::size_t size, Out how) {
  if (world.byte() >= 248) return nullptr;
  how.data = allocate(size);
  how.before.assign(size, '\0');
  outs_.push_back(std::move(how));
  return outs_.back().data;
}

void Frame::set_struct_size(std::uint32_t size, std::size_t at) {
  Out& out = outs_.back();
  std::memcpy(static_cast<char*>(out.data) + at, &size, sizeof size);
  std::memcpy(out.before.data() + at, &size, sizeof size);
}

void Frame::watch(void* data, std::size_t size) {
  outs_.push_back({.data = data, .before = std::string(static_cast<char*>(data), size)});
}

std::size_t Frame::size() {
  const std::uint8_t b = world.byte();
  if (b < 208) return last_size;
  if (b < 240) return last_size == 0 ? 0 : b % last_size;
  return std::size_t{1} << 63 | b % 2;
}

const char* Frame::c_string(Words from) {
  const std::string& word = world.word(from);
  char* copy = array<char>(word.size() + 1);
  std::memcpy(copy, word.c_str(), word.size() + 1);
  last_size = word.size();
  return copy;
}

const char* Frame::text() {
  return c_string(words_[texts_++ > 0]);
}

const void* Frame::data() {
  const std::string bytes = world.bytes();
  last_size = bytes.size();
  lent_ = std::malloc(bytes.size() + bytes.empty());
  std::memcpy(lent_, bytes.data(), bytes.size());
  return lent_;
}

void Frame::check(weft_status status) {
  static const bool shows = std::getenv("WEFT_FUZZ_TRACE") != nullptr;
  if (shows)
    std::fprintf(stderr, "%*s%s: %s %s\n", 2 * world.depth, "", current_function,
                 weft_status_name(status), error ? weft_error_message(*error) : "");
  require(status >= WEFT_SUCCESS && status < WEFT_ERROR_INTERNAL, "an internal error");
  if (status == WEFT_SUCCESS) {
    check_success();
  } else {
    check_failure(status);
  }
}

void Frame::check_failure(weft_status status) {
  if (error) {
    require(*error != nullptr, "a failure without an error");
    require(weft_error_status(*error) == status, "another status in the error");
    require(*weft_error_message(*error) != '\0', "a failure without a message");
    weft_error_free(*error);
    require(*weft_error_message(*error) == '\0', "a message of an error that was freed");
  }
  for (const Out& out : outs_) {
    if (status == WEFT_ERROR_CAPACITY && out.what == Out::What::size) continue;
    require(std::memcmp(out.data, out.before.data(), out.before.size()) == 0,
            "a result was written without success");
  }
}

void Frame::check_success() {
  require(!error || *error == nullptr, "an error with success");
  for (std::size_t i = 0; i < outs_.size(); ++i) {
    const Out& out = outs_[i];
    if (out.what != Out::What::pointer) {
      take(out);
      continue;
    }
    const bool sized = i + 1 < outs_.size() && outs_[i + 1].what == Out::What::size;
    touch(out, sized ? *static_cast<const std::size_t*>(outs_[i + 1].data) : 0);
  }
}

// Keeps handles, and frees texts.
void Frame::take(const Out& out) {
  if (out.what == Out::What::handle) {
    void* const handle = *static_cast<void**>(out.data);
    if (handle) world.add(out.type, handle);
  } else if (out.what == Out::What::text) {
    auto* text = static_cast<weft_text*>(out.data);
    require(text->data && text->data[text->size] == '\0', "a text without a NUL");
    if (text->size > 64 && words_[0] == Words::session) world.remember({text->data, text->size});
    weft_text_free(text);
  }
}

// Reads what a function gave, so that a sanitizer sees what is not there.
void Frame::touch(const Out& pointer, std::size_t n) {
  const auto* bytes = *static_cast<const unsigned char* const*>(pointer.data);
  if (!bytes) return;
  for (std::size_t i = 0; i < n * pointer.element; ++i) read_ = bytes[i];
  if (pointer.element == 1 && n == 0) read_ = *bytes;
}

}  // namespace weft_fuzz

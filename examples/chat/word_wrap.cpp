#include "chat/word_wrap.h"

#include <cwchar>
#include <utility>

#include "weft/base/utf8.h"

namespace weft::chat {
namespace {

constexpr std::size_t kTab = 8;

std::size_t width_of(char32_t code) {
  const int width = wcwidth(static_cast<wchar_t>(code));
  if (width >= 0) return static_cast<std::size_t>(width);
  return code < 0x20 || code == 0x7F ? 0 : 1;
}

// Punctuation of Chinese and Japanese that a line must not begin with.
bool closes(char32_t code) {
  return std::u32string_view(U"、。，．！？：；）］｝」』】〉》〕").find(code) !=
         std::u32string_view::npos;
}

// The marks that a fence consists of. Its code ends at a line that begins with the same number of
// them.
std::string_view fence_of(std::string_view word) {
  return word.substr(0, word.find_first_not_of(word.front()));
}

bool is_fence(std::string_view text) {
  return text.starts_with("```") || text.starts_with("~~~");
}

}  // namespace

std::string WordWrap::next(std::string_view piece, std::size_t columns) {
  for (std::size_t at = 0; at < piece.size();) {
    const Utf8Char c = decode_utf8(piece, at);
    const std::string_view character = piece.substr(at, c.length);
    line_is_raw_ ? put_code(character) : put(character, c.code, columns);
    at += c.length;
  }
  return std::exchange(out_, {});
}

std::string WordWrap::end(std::size_t columns) {
  if (!line_is_raw_) finish_word(columns);
  std::string rest = std::move(out_) + gap_;
  *this = {};
  return rest;
}

void WordWrap::put(std::string_view character, char32_t code, std::size_t columns) {
  if (code == '\n') {
    const bool fence = first_word_ && word_begins_code();
    if (fence) fence_ = fence_of(word_);
    finish_word(columns);
    out_ += gap_ + "\n";
    begin_line(fence);
    return;
  }
  if (code == ' ' || code == '\t') {
    word_is_long_ = false;
    if (first_word_ && word_begins_code()) {
      fence_ = fence_of(word_);
      finish_word(columns);
      out_ += character;
      line_is_raw_ = true;
      return;
    }
    finish_word(columns);
    gap_ += character;
    gap_width_ += code == ' ' ? 1 : kTab - (column_ + gap_width_) % kTab;
    return;
  }
  const std::size_t width = width_of(code);
  const bool joins = width == 0 || (closes(code) && !word_.empty());
  if (!joins && (width == 2 || word_is_wide_)) finish_word(columns), word_is_long_ = false;
  if (!joins) word_is_wide_ = width == 2;
  if (word_is_long_) {
    out_ += character;
    column_ = (column_ + width) % columns;
    return;
  }
  word_ += character;
  word_width_ += width;
  if (columns == 0 || word_width_ <= columns || (first_word_ && is_fence(word_))) return;
  finish_word(columns);
  word_is_long_ = true;
}

// Code is printed at once. Its last line is the one that begins with the fence of the first.
void WordWrap::put_code(std::string_view character) {
  out_ += character;
  if (character == "\n")
    begin_line(!code_ || lead_ != fence_);
  else if (lead_.size() < fence_.size() && (character != " " || !lead_.empty()))
    lead_ += character;
}

void WordWrap::finish_word(std::size_t columns) {
  if (word_.empty()) return;
  if (column_ > 0 && column_ + gap_width_ + word_width_ > columns) {
    out_ += '\n';
    column_ = 0;
  } else {
    out_ += gap_;
    column_ += gap_width_;
  }
  out_ += word_;
  column_ += word_width_;
  if (column_ > columns && columns > 0) column_ %= columns;
  gap_.clear(), word_.clear();
  gap_width_ = word_width_ = 0;
  word_is_wide_ = first_word_ = false;
}

// A line that begins with a fence and has no third one: that would be code within a line.
bool WordWrap::word_begins_code() const {
  return is_fence(word_) && word_.find(word_[0], word_.find_first_not_of(word_[0])) == word_.npos;
}

void WordWrap::begin_line(bool code) {
  gap_.clear(), word_.clear(), lead_.clear();
  gap_width_ = word_width_ = column_ = 0;
  word_is_wide_ = word_is_long_ = false;
  first_word_ = true;
  code_ = line_is_raw_ = code;
}

}  // namespace weft::chat

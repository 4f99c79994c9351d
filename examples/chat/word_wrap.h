#pragma once
// Breaks text that comes in pieces between words, where the terminal's last column would break it
// within one.

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::chat {

// A word is printed once its end has come, or once it is longer than a line. Lines between
// ``` or ~~~ fences are code and stay as they are, as does a word that is longer than a line. Wide
// characters (Chinese, Japanese, Korean) are words of their own. REQUIRES: LC_CTYPE is a locale of
// UTF-8.
class WordWrap {
 public:
  // The output for the next piece of a text, on a terminal of that width; 0: without breaks.
  std::string next(std::string_view piece, std::size_t columns);
  // The rest of the text. The next one begins in the first column.
  std::string end(std::size_t columns);

 private:
  void put(std::string_view character, char32_t code, std::size_t columns);
  void put_code(std::string_view character);
  void finish_word(std::size_t columns);
  bool word_begins_code() const;
  void begin_line(bool code);

  std::string out_;
  std::string gap_, word_;  // spaces and the word after them, not yet printed
  std::size_t gap_width_ = 0, word_width_ = 0, column_ = 0;
  bool word_is_wide_ = false;
  bool word_is_long_ = false;  // than a line: printed up to here
  bool first_word_ = true;
  bool code_ = false;         // within fences
  bool line_is_raw_ = false;  // a line of code or one with a fence
  std::string fence_, lead_;  // the open fence; how the line of code begins
};

}  // namespace weft::chat

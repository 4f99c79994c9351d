#pragma once
// A piece of text as the stages of pre-tokenizer rules see it.

#include <cstddef>
#include <limits>
#include <string_view>

#include "weft/base/utf8.h"

#include "unicode/unicode_class.h"

namespace weft::tokenize {

inline constexpr int kUnlimited = std::numeric_limits<int>::max();

// A match that ends at `end`, or none; then no match begins before `end` either.
struct Match {
  bool found;
  std::size_t end;
};

// A piece of text as a sequence of classified characters. Bytes that are not UTF-8 are characters
// of no class.
class CharReader {
 public:
  struct Char {
    char32_t code = 0;
    CharClass bits = 0;
    std::size_t next = 0;  // where the following one begins
  };

  explicit CharReader(std::string_view text) : text_(text) {}

  std::size_t size() const { return text_.size(); }
  // Past the end: a character of no class whose code is 0 and that is followed by itself.
  Char at(std::size_t i) const {
    if (i >= text_.size()) return {.next = i};
    const Utf8Char c = decode_utf8(text_, i);
    return {c.code, c.valid ? classify(c.code) : CharClass{0}, i + c.length};
  }
  char byte(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool has(std::size_t i, std::string_view literal) const {
    return i <= text_.size() && text_.substr(i, literal.size()) == literal;
  }

  // The end of the longest run of characters from `i` on that satisfy `accept`, of at most `max`.
  template <class Accept>
  std::size_t run(std::size_t i, Accept accept, int max = kUnlimited) const {
    for (int n = 0; n < max && i < text_.size(); ++n) {
      const Char c = at(i);
      if (!accept(c)) break;
      i = c.next;
    }
    return i;
  }

 private:
  std::string_view text_;
};

// The notes of a stage about the current run of characters, so that a long run that it splits is
// scanned only once.
struct RunMemo {
  std::size_t end = 0;        // the run ends here; 0: none is known
  std::size_t remaining = 0;  // characters from the place of the last match on
  std::size_t after_newline = 0;
};

}  // namespace weft::tokenize

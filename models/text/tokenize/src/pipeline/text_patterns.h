#pragma once
// Finds literal texts and runs of characters, and white space at the ends of a text.

#include <cstddef>
#include <string_view>
#include <utility>

#include "weft/tokenize/pipeline.h"

#include "split/pre_tokenizer.h"

namespace weft::tokenize {

// The row of a regular expression that is_run_pattern() knows; null for others. Only contains, min
// and max are set.
const RunStage* find_run_pattern(std::string_view regex);

// Throws FormatError for an empty text and for a regular expression that is not known.
void check_pattern(const TextPattern& pattern);

// Matches do not overlap and are found from left to right. The pattern must outlive the finder.
class PatternFinder {
 public:
  // REQUIRES: a regular expression is one that is_run_pattern() knows.
  explicit PatternFinder(const TextPattern& pattern)
      : literal_(pattern.text), run_(pattern.regex ? find_run_pattern(pattern.text) : nullptr) {}

  // found(begin, end) for every match. Empty texts are never found.
  template <class Found>
  void for_each_match(std::string_view text, Found found) const {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t begin = at, end = 0;
      if (!(run_ ? next_run(text, begin, end) : next_literal(text, begin, end))) return;
      found(begin, end);
      at = end;
    }
  }

 private:
  bool next_literal(std::string_view text, std::size_t& begin, std::size_t& end) const;
  bool next_run(std::string_view text, std::size_t& begin, std::size_t& end) const;

  std::string_view literal_;
  const RunStage* run_;
};

// Bytes of white space (Unicode's White_Space) at the ends of a text.
std::size_t spaces_at_begin(std::string_view text);
std::size_t spaces_at_end(std::string_view text);

// Finds the white space that tokens absorb, from the first token of a text to the last.
class SpaceAbsorber {
 public:
  explicit SpaceAbsorber(std::string_view text) : text_(text) {}

  // The bytes [first, second) of a token with the white space around it: before it not beyond
  // `done`, where the token before it ends. As in the library of tokenizer.json, white space that
  // two tokens could absorb, or that is a token, belongs to both; then `second` may be before
  // `done`, and text that the token before absorbed is encoded again. Empty if nothing is left.
  std::pair<std::size_t, std::size_t> around(std::size_t begin, std::size_t end, std::size_t done,
                                             bool left, bool right);

 private:
  std::string_view text_;
  std::size_t run_end_ = 0;  // where the white space after a token ends
};

// Whether the text begins or ends with a character of a word (\w).
bool begins_with_word(std::string_view text);
bool ends_with_word(std::string_view text);

}  // namespace weft::tokenize

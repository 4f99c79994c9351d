#pragma once
// A regular expression that is safe to run on text from files: it is compiled to a deterministic
// automaton, so that a search takes linear time and constant memory for all patterns and texts.

#include <memory>
#include <string_view>

namespace weft {

namespace grammar {
class Dfa;
}  // namespace grammar

// Immutable and cheap to copy; any number of threads may use one.
class Regex {
 public:
  // The syntax of ECMAScript. Throws FormatError with the column if the pattern is malformed,
  // UnsupportedError for back references, word boundaries and look-behind, BudgetError if the
  // automaton would need too much memory.
  explicit Regex(std::string_view pattern);

  // Whether the pattern matches anywhere in a text in UTF-8. Bytes that are not UTF-8 count as
  // U+FFFD.
  bool found_in(std::string_view text) const;

 private:
  std::shared_ptr<const grammar::Dfa> automaton_;
};

}  // namespace weft

#pragma once
// Splits a text into the pieces within which byte-pair merging may happen. A rule is a list of
// stages. Each stage splits the pieces of the previous one at its matches; matches and the text
// between them become pieces. The parameters of stages describe the regular expressions of the
// models' original tokenizers; all stages run in linear time.

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "split/split_functions.h"
#include "unicode/char_reader.h"
#include "unicode/unicode_class.h"

namespace weft::tokenize {

// A run of characters of one sort: LEAD? X{min,max}; `contains` defines X.
struct RunStage {
  enum class Lead { none, space, white_space };

  bool (*contains)(char32_t code) = nullptr;
  Lead lead = Lead::none;
  int min = 1;
  int max = kUnlimited;
  bool at_end = false;  // only if the run reaches the end of the piece
};

// The general pattern: alternatives tried in this order at every position.
//   contractions             's 't 're 've 'm 'll 'd
//   ascii_punctuated_words   [!-/:-~][A-Za-z]+
//   words                    PREFIX? LETTERS+, or with split_case the two forms  PREFIX? UPPER*
//   LOWER+  and  PREFIX? UPPER+ LOWER*,
//                            both with an optional contraction at the end (split_case_suffix)
//   numbers                  digits{1,max_digits}, or ' '?digits+ if digits_take_space
//   punctuation              ' '? PUNCTUATION+ NEWLINE_TAIL*  (or ?, if it is one)
//   newlines                 \s*[\r\n]+
//   white space              \s+(?!\S), then \s+ if lone_space; or if halving_spaces
//                            \s{512}(?!\S), \s{256}(?!\S), ... \s{4}(?!\S), \s{1,2}(?!\S), \s
// If han_apart, runs of Han characters come first and no word holds one. With phrases, LETTERS+
// is LETTER MARK* (' '? LETTER MARK*)*.
struct WordStage {
  enum class Contractions { none, lower_case, any_case };
  enum class NewlineTail { none, one, newlines, newlines_and_slashes };

  Contractions contractions = Contractions::none;
  bool ascii_punctuated_words = false;
  CharClass letters = char_class::kLetter;
  // One character before a word that goes with it: a space, or any that is in none of these
  // classes.
  bool prefix_is_space = false;
  CharClass not_prefix = char_class::kNewline | char_class::kLetter | char_class::kNumber;
  bool split_case = false;
  Contractions split_case_suffix = Contractions::none;
  int max_digits = kUnlimited;  // 0: no alternative for numbers
  bool digits_take_space = false;
  // Punctuation: a character in one of `punctuation`, or, if that is 0, in none of
  // `not_punctuation`.
  CharClass punctuation = 0;
  CharClass not_punctuation = char_class::kSpace | char_class::kLetter | char_class::kNumber;
  NewlineTail newline_tail = NewlineTail::newlines;
  bool newlines = true;
  bool lone_space = true;
  bool halving_spaces = false;
  bool han_apart = false;
  bool phrases = false;
};

using SplitStage = std::variant<RunStage, WordStage, SplitFunction>;

class PieceSink {
 public:
  virtual void piece(std::string_view text) = 0;

 protected:
  ~PieceSink() = default;
};

// Passes the pieces of `text` to `sink`, in order; together they are the text. No piece is empty.
void pre_tokenize(std::span<const SplitStage> stages, std::string_view text, PieceSink& sink);

// The meaning of a name in tokenizer.ggml.pre.
struct PreTokenizerRule {
  std::span<const std::string_view> names;
  std::span<const SplitStage> stages;
  bool ignore_merges =
      false;  // a piece that is a token as a whole becomes that token, regardless of merges
  bool add_bos = false;  // unless the file says otherwise
  // How tokens write text: in the notation of byte_map.h; as it is but for U+2581, which is a
  // space, with "<0xXX>" for characters that have no token; or as it is.
  enum class Notation { bytes, space_symbols, plain } notation = Notation::bytes;
  bool whole_newlines = false;  // a piece of line ends that is a token as a whole is that token
  bool drop_spaces = false;     // pieces of white space make no tokens
};

// Null for names that are not in the table
// (models/text/tokenize/src/split/pre_tokenizer_rules.cpp).
const PreTokenizerRule* find_pre_tokenizer_rule(std::string_view name);
// The rule for files that name none.
const PreTokenizerRule& default_pre_tokenizer_rule();

}  // namespace weft::tokenize

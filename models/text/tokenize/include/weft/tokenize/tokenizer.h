#pragma once
// Text to token ids and back. One tokenizer kind is one file pair in models/text/tokenize and one
// row in tokenizer_kinds.cpp. Immutable after construction: any number of threads may encode and
// decode with one tokenizer.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/vocabulary.h"

namespace weft {

namespace tokenize {
class SpecialSplitter;
struct SpecialMatch;
}  // namespace tokenize

// The bytes begin .. end - 1 of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  bool add_special = true;  // BOS, EOS and the like: Vocabulary::forms()
  // Control tokens spelled out in the text ("<|im_end|>") become that token.
  bool parse_special = false;
  // Ranges in which they stay ordinary text nevertheless, because the text is untrusted: ascending,
  // disjoint, within the text. No special token crosses the border of a range.
  std::span<const TextRange> foreign = {};
};

// Tokens with their types (FormPart::type). There is one type per id, or none at all: then all have
// type 0. Functions that compute with them throw ValueError otherwise.
struct TypedTokens {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> types;

  TypedTokens() = default;
  TypedTokens(std::vector<TokenId> tokens)  // NOLINT(google-explicit-constructor)
      : ids(std::move(tokens)) {}
};

struct DecodeOptions {
  bool show_special = false;  // control and unknown tokens appear as their text instead of nothing
  bool strip_space_prefix = false;  // drop the leading space that encoding put before the text
};

class Tokenizer {
 public:
  virtual ~Tokenizer();

  // Accepts any bytes: NUL is an ordinary byte, and bytes that are not UTF-8 are encoded one by
  // one. A byte for which the vocabulary has no token becomes the unknown token, or is dropped if
  // there is none. Kinds that normalize text first ("bert", "t5", "whitespace", "llama" with a
  // character map) replace such bytes by U+FFFD. Throws ValueError for texts of 2 GiB and more,
  // before or after normalization, and for foreign ranges that are out of order or reach beyond the
  // text; FormatError if a text leads to a broken entry of the vocabulary's character map.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // A text, or two, with the special tokens around them (Vocabulary::forms()). Control tokens
  // spelled out in the texts stay ordinary text. Throw like encode(); encode_pair() also
  // UnsupportedError if the vocabulary has no form for pairs.
  TypedTokens encode_typed(std::string_view text) const;
  TypedTokens encode_pair(std::string_view first, std::string_view second) const;

  // The bytes of the tokens, concatenated. decode(encode(x)) = x for every x if the vocabulary has
  // a token for every byte and the kind does not normalize (kinds "llama", "gemma4": except for
  // U+2581, which comes back as a space). Throws ValueError for an id outside the
  // vocabulary.
  std::string decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  // The bytes that one token stands for, control and unknown tokens included. REQUIRES: 0 <= id <
  // size.
  virtual std::string_view bytes(TokenId id) const = 0;
  // Throws ValueError for an id outside the vocabulary.
  void check_id(TokenId id) const;
  // Whether plain output omits the token.
  bool hidden(TokenId id) const;

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  // Defects of the vocabulary that were worked around, including those that Vocabulary found.
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  // `own`: the texts of special tokens that the kind recognizes regardless of their types.
  explicit Tokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                     std::span<const std::string_view> own = {});
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  // No warning if `n` is 0.
  void warn_of_long_tokens(std::size_t n, std::size_t limit);
  // Throws ValueError for texts that are too long and for ranges that encode() refuses.
  static void check_text(std::string_view text, const EncodeOptions& options);

 private:
  // Appends the ids of the text between two special tokens. `text` is not empty.
  virtual void encode_stretch(std::string_view text, std::vector<TokenId>& out) const = 0;
  // The same for the stretch that begins the whole text.
  virtual void encode_first_stretch(std::string_view text, std::vector<TokenId>& out) const {
    encode_stretch(text, out);
  }
  // Bytes `begin` to `end` of a text, which no special token is in.
  void encode_between(std::string_view text, std::size_t begin, std::size_t end,
                      std::vector<TokenId>& out) const;
  std::vector<tokenize::SpecialMatch> find_special(std::string_view text,
                                                   const EncodeOptions& options) const;
  // Appends the ids of a text without the special tokens around it.
  virtual void encode_text(std::string_view text, const EncodeOptions& options,
                           std::vector<TokenId>& out) const;
  TypedTokens fill(const TextForm& form, std::string_view first, std::string_view second) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::string> warnings_;
  std::unique_ptr<const tokenize::SpecialSplitter> user_defined_;
  std::unique_ptr<const tokenize::SpecialSplitter> all_special_;
};

// The tokenizer of a vocabulary's kind. Throws UnsupportedError for an unknown kind (the
// message lists the known ones), FormatError if the vocabulary lacks data that its kind needs.
std::shared_ptr<const Tokenizer> make_tokenizer(std::shared_ptr<const Vocabulary> vocabulary);

// Streams text token by token, never half a UTF-8 character. Keeps a reference to the tokenizer;
// one thread at a time.
class Detokenizer {
 public:
  // Bytes that are not UTF-8: unchanged, or one U+FFFD for each incomplete character.
  enum class Invalid { keep, replace };

  struct Options {
    DecodeOptions decode;
    Invalid invalid = Invalid::keep;
  };

  explicit Detokenizer(const Tokenizer& tokenizer) : Detokenizer(tokenizer, Options{}) {}
  Detokenizer(const Tokenizer& tokenizer, const Options& options);

  // The text that this token completes, possibly empty: bytes that may still become a character are
  // held back (at most 3). Valid until the next call. With Invalid::keep the outputs of all push()
  // and finish() together are Tokenizer::decode of the same ids.
  std::string_view push(TokenId id);
  // Returns the incomplete character that was held back, as its bytes or as one U+FFFD. A new text
  // may begin afterwards.
  std::string_view finish();

 private:
  void emit(std::size_t n_bytes);

  const Tokenizer& tokenizer_;
  Options options_;
  bool at_start_ = true;
  std::string held_;
  std::string out_;
};

}  // namespace weft

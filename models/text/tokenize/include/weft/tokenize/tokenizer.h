#pragma once
// Text to token ids and back. One tokenizer kind is one file pair in models/text/tokenize and one
// row in tokenizer_kinds.cpp. Immutable after construction: any number of threads may encode and
// decode with one tokenizer.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/vocabulary.h"

namespace weft {

class SpecialSplitter;
struct SpecialMatch;

// The bytes begin .. end - 1 of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  bool add_special = true;  // BOS, EOS and the like, as the vocabulary asks
  bool parse_special =
      false;  // control tokens written out in the text ("<|im_end|>") become that token
  // Stretches in which they stay ordinary text even so, because strangers wrote them: ascending,
  // apart from each other, within the text. No special token reaches across the border of one.
  std::span<const TextRange> foreign = {};
};

struct DecodeOptions {
  bool show_special = false;  // control and unknown tokens appear as their text instead of nothing
  bool strip_space_prefix = false;  // drop the leading space that encoding put before the text
};

class Tokenizer {
 public:
  virtual ~Tokenizer();

  // Any bytes are a text: NUL is a byte like others, and bytes that are not UTF-8 are encoded one
  // by one. A byte for which the vocabulary has no token becomes the unknown token, or is left out
  // where there is none. Kinds that change texts before they look for tokens ("bert", "t5",
  // "whitespace", "llama" with a character map) take such bytes for U+FFFD. Throws ValueError for
  // texts of 2 GiB and more, as they come or with their spaces and characters replaced, and for
  // foreign stretches that are out of order or reach beyond the text; FormatError where a text
  // leads to a broken place of the vocabulary's character map.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The bytes of the tokens, one after the other; decode(encode(x)) = x for every x where the
  // vocabulary has a token for every byte and the kind changes no texts (kinds "llama", "gemma4":
  // apart from U+2581, which comes back as a space). Throws ValueError for an id outside the
  // vocabulary.
  std::string decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  // The bytes that one token stands for, control and unknown tokens included. REQUIRES: 0 <= id <
  // size.
  virtual std::string_view bytes(TokenId id) const = 0;
  // Throws ValueError for an id outside the vocabulary.
  void check_id(TokenId id) const;
  // True for tokens that plain output leaves out.
  bool hidden(TokenId id) const;

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  // Oddities of the vocabulary that were worked around (those found by Vocabulary included).
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  // `own`: the texts of special tokens that the kind finds by itself, whatever their types are.
  explicit Tokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                     std::span<const std::string_view> own = {});
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  // Nothing where `n` is 0.
  void warn_of_long_tokens(std::size_t n, std::size_t limit);

 private:
  // What goes around a text; kNoToken: nothing. By default BOS and EOS where the vocabulary asks.
  virtual TokenId opening() const;
  virtual TokenId closing() const;
  // Appends the ids of a stretch of text between special tokens. `text` is not empty.
  virtual void encode_stretch(std::string_view text, std::vector<TokenId>& out) const = 0;
  std::vector<SpecialMatch> find_special(std::string_view text, const EncodeOptions& options) const;

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::string> warnings_;
  std::unique_ptr<const SpecialSplitter> user_defined_;
  std::unique_ptr<const SpecialSplitter> all_special_;
};

// The tokenizer of a vocabulary's kind. Throws UnsupportedError for kinds that nothing here can
// encode (the message lists the known ones), FormatError where the vocabulary lacks what its kind
// needs.
std::shared_ptr<const Tokenizer> make_tokenizer(std::shared_ptr<const Vocabulary> vocabulary);

// Text as it comes, token by token: never half a UTF-8 character. Keeps a reference to the
// tokenizer; one thread at a time.
class Detokenizer {
 public:
  enum class Invalid { keep, replace };  // bytes that are no UTF-8: as they are, or U+FFFD for each

  struct Options {
    DecodeOptions decode;
    Invalid invalid = Invalid::keep;
  };

  explicit Detokenizer(const Tokenizer& tokenizer) : Detokenizer(tokenizer, Options{}) {}
  Detokenizer(const Tokenizer& tokenizer, const Options& options);

  // The text that this token completes, possibly empty: what might still become a character is held
  // back (3 bytes at most). Valid until the next call. With Invalid::keep the outputs of all push()
  // and finish() together are Tokenizer::decode of the same ids.
  std::string_view push(TokenId id);
  // What was held back, which is then no character: the bytes, or one U+FFFD. Afterwards a new text
  // may begin.
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

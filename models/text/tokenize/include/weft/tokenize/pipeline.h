#pragma once
// A tokenizer as tokenizer.json describes it, for vocabularies that no tokenizer kind computes
// exactly: the steps that normalize a text, the steps that split it into pieces, the model that
// turns a piece into tokens, and the tokens that are found in a text as they stand. Plain values.
// Source: the components of https://github.com/huggingface/tokenizers, version 0.23.

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft {

// A literal text, or one of the regular expressions that is_run_pattern() knows.
struct TextPattern {
  std::string text;
  bool regex = false;
};

// True for a regular expression that stands for a run of characters of one sort, such as `\s+`.
bool is_run_pattern(const std::string& regex);

namespace normalize {

struct Strip {
  bool left = true, right = true;
};
struct StripAccents {};
struct UnicodeForm {
  bool compose = true;      // NFC, NFKC
  bool compatible = false;  // NFKC, NFKD
};
struct Lowercase {};
struct Nmt {};
// The table of a SentencePiece model, applied to each grapheme.
struct Precompiled {
  std::string charsmap;
};
struct Replace {
  TextPattern pattern;
  std::string content;
};
struct Prepend {
  std::string text;
};
struct ByteLevel {};  // bytes in the notation of byte-level BPE
struct Bert {
  bool clean_text = true;
  bool space_ideographs = true;
  bool strip_accents = true;
  bool lowercase = true;
};

using Step = std::variant<Strip, StripAccents, UnicodeForm, Lowercase, Nmt, Precompiled, Replace,
                          Prepend, ByteLevel, Bert>;

}  // namespace normalize

namespace split {

// What becomes of a match: dropped, a piece of its own, a part of the piece before or after it; or
// neighbouring matches become one piece.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct AtPattern {
  TextPattern pattern;
  Behavior behavior = Behavior::isolated;
  bool invert = false;  // what is between the matches counts as matches
};
struct Metaspace {
  enum class Prefix { always, first, never };  // first: only where the whole text begins

  std::string replacement;  // one character, for every space
  Prefix prefix = Prefix::always;
  bool split = true;
};
struct ByteLevel {  // bytes in the notation of byte-level BPE
  bool add_prefix_space = false;
  bool split_like_gpt2 = false;  // before they are written
};
// A pre-tokenizer rule (tokenizer.ggml.pre), whose matches and the texts between them are pieces.
struct ByRule {
  std::string name;
};
struct Punctuation {
  Behavior behavior = Behavior::isolated;
};
struct Digits {
  bool individual = false;
};
struct Whitespace {};      // \w+|[^\w\s]+
struct WhitespaceOnly {};  // \S+
struct BertWords {};       // the same, and punctuation apart
struct FixedLength {
  std::size_t n_chars = 1;
};

using Step = std::variant<AtPattern, Metaspace, ByteLevel, ByRule, Punctuation, Digits, Whitespace,
                          WhitespaceOnly, BertWords, FixedLength>;

}  // namespace split

// How a piece becomes tokens.
struct TokenModel {
  enum class Kind { bpe, unigram, word_piece, word_level };

  Kind kind = Kind::bpe;
  TokenId unknown = -1;  // for what has no token; -1: nothing
  // BPE and Unigram: characters without a token become "<0xXX>" tokens.
  bool byte_fallback = false;
  // BPE and WordPiece: what tokens begin with that do not begin a piece. In vocabularies of kind
  // "bert", tokens are written without it, and those that begin a piece with U+2581.
  std::string continuing_prefix;
  // BPE only.
  bool ignore_merges = false;  // a piece that is a token is that token
  bool fuse_unknown = false;   // unknown characters in a row are one unknown token
  std::string word_suffix;
  // WordPiece only: longer words are unknown.
  std::size_t max_word_chars = 100;
  // Unigram only, by token.
  std::vector<double> scores;
};

// A token that is found in a text as it stands.
struct AddedToken {
  TokenId id = -1;
  bool special = false;     // found only if EncodeOptions::parse_special
  bool normalized = false;  // its text and the text it is found in are both normalized
  bool strip_left = false, strip_right = false;  // absorbs the white space before or after it
  bool whole_word = false;
  bool in_model = false;  // the model may produce it, too
};

struct TokenizerPipeline {
  // How the decoder reads the texts of tokens.
  enum class Notation { plain, bytes, spaces };

  std::vector<normalize::Step> normalizers;
  std::vector<split::Step> splits;
  TokenModel model;
  std::vector<AddedToken> added;
  Notation notation = Notation::plain;
  std::string space_symbol;  // Notation::spaces: what stands for a space
  bool byte_tokens = false;  // the decoder reads "<0xXX>" as a byte
};

}  // namespace weft

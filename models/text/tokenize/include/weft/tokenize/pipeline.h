#pragma once
// A tokenizer as tokenizer.json describes it, for vocabularies that no tokenizer kind reproduces
// exactly. Added tokens are matched first. The text between them is normalized, split into pieces
// (pre-tokenized), and each piece is turned into tokens by the model. All types are plain values.
// Source: the components of https://github.com/huggingface/tokenizers, version 0.23.

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft {

// A literal text, or a regular expression for which is_run_pattern() is true.
struct TextPattern {
  std::string text;
  bool regex = false;
};

// Whether a TextPattern may have this regular expression: one that matches a run of characters of
// one class, such as `\s+`.
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
// The precompiled_charsmap of a SentencePiece model, decoded from base64. It maps whole graphemes.
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
struct ByteLevel {};  // writes each byte as the character that GPT-2 has for it
struct Bert {
  bool clean_text = true;        // removes control characters; white space becomes spaces
  bool space_ideographs = true;  // puts spaces around ideographs
  bool strip_accents = true;
  bool lowercase = true;
};

using Step = std::variant<Strip, StripAccents, UnicodeForm, Lowercase, Nmt, Precompiled, Replace,
                          Prepend, ByteLevel, Bert>;

}  // namespace normalize

namespace split {

// What becomes of a match: it is removed, is a piece of its own, or joins the piece before or after
// it. `contiguous`: adjacent matches form one piece.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct AtPattern {
  TextPattern pattern;
  Behavior behavior = Behavior::isolated;
  bool invert = false;  // the texts between the matches are the matches
};
struct Metaspace {
  enum class Prefix { always, first, never };  // first: only at the start of the whole text

  std::string replacement;  // the character that replaces each space
  Prefix prefix = Prefix::always;
  bool split = true;
};
struct ByteLevel {  // writes each byte as the character that GPT-2 has for it
  bool add_prefix_space = false;
  bool split_like_gpt2 = false;  // first, with the regular expression of GPT-2
};
// A pre-tokenizer rule by its name in tokenizer.ggml.pre. Its matches, and the texts between them,
// are pieces.
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
struct BertWords {};       // \S+, and each punctuation character by itself
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
  TokenId unknown = -1;  // replaces text that has no token; -1: such text is dropped
  // BPE and Unigram: characters without a token become one "<0xXX>" token per byte.
  bool byte_fallback = false;
  // BPE and WordPiece: the prefix of tokens that continue a piece. Vocabularies of kind "bert" omit
  // it, and mark tokens that begin a piece with U+2581 instead.
  std::string continuing_prefix;
  // BPE only.
  bool ignore_merges = false;  // a piece that is a token is that token
  bool fuse_unknown = false;   // consecutive unknown characters become one unknown token
  std::string word_suffix;     // of tokens that end a piece
  // WordPiece only: longer pieces become the unknown token.
  std::size_t max_word_chars = 100;
  // Unigram only: the log-probability of each token, indexed by its id.
  std::vector<double> scores;
};

// A token that is matched as a whole, before the text is split.
struct AddedToken {
  TokenId id = -1;
  bool special = false;     // matched only with EncodeOptions::parse_special
  bool normalized = false;  // its normalized text is matched in the normalized text
  bool strip_left = false, strip_right = false;  // absorbs the white space before or after it
  bool whole_word = false;                       // matched only between word boundaries
  bool in_model = false;                         // the model may produce it, too
};

struct TokenizerPipeline {
  // How the texts of tokens are decoded: as they are, as GPT-2's characters for bytes, with
  // `space_symbol` for a space, or as words with a space before each.
  enum class Notation { plain, bytes, spaces, words };

  std::vector<normalize::Step> normalizers;
  std::vector<split::Step> splits;
  TokenModel model;
  std::vector<AddedToken> added;
  Notation notation = Notation::plain;
  std::string space_symbol;  // Notation::spaces only
  bool byte_tokens = false;  // "<0xXX>" is decoded as a byte
};

}  // namespace weft

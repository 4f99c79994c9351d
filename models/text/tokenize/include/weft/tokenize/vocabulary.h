#pragma once
// The vocabulary of a model file: the tokens with their scores and types, the special ids, and how
// a text is prepared before it is encoded. Immutable after construction: any number of threads may
// read. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (tokenizer.ggml.*)

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft {

inline constexpr TokenId kNoToken = -1;

// The numbers are those of tokenizer.ggml.token_type.
enum class TokenType : std::uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,       // never produced from plain text, not shown
  user_defined = 4,  // always matched literally in a text
  unused = 5,
  byte = 6,  // "<0xXX>": one byte of a character that has no token
};

// kNoToken for those that the vocabulary lacks.
struct SpecialTokens {
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  TokenId eot = kNoToken;  // end of a turn
  TokenId eom = kNoToken;  // end of a message that waits for a tool
  TokenId unk = kNoToken;
  TokenId sep = kNoToken;
  TokenId pad = kNoToken;
  TokenId cls = kNoToken;
  TokenId mask = kNoToken;
  TokenId fim_pre = kNoToken;
  TokenId fim_suf = kNoToken;
  TokenId fim_mid = kNoToken;
  TokenId fim_pad = kNoToken;
  TokenId fim_rep = kNoToken;
  TokenId fim_sep = kNoToken;
};

struct TokenizerFlags {
  bool add_bos = false;
  bool add_eos = false;
  bool add_sep = false;
  bool add_space_prefix = false;  // before every stretch of text between special tokens
  bool prefix_once = false;       // only before the one that begins a text
  bool remove_extra_whitespaces = false;
  bool lowercase = false;      // kinds "bert" and "whitespace"
  bool strip_accents = false;  // kind "bert"
};

struct TokenizerPipeline;  // weft/tokenize/pipeline.h

// The parts of a vocabulary. `tokens` and `merges` are arbitrary bytes in the notation of the file.
// `scores` and `types` are empty or as long as `tokens`.
struct VocabularyParts {
  std::string kind;  // tokenizer.ggml.model: "llama", "gpt2", ...; "none" without a tokenizer
  std::string pre;  // tokenizer.ggml.pre: the rule that splits a text before byte-pair merging; may
                    // be empty
  std::string chat_template;             // tokenizer.chat_template, may be empty
  std::string tool_template;             // tokenizer.chat_template.tool_use, likewise
  std::vector<std::string_view> tokens;  // copied by Vocabulary
  std::vector<float> scores;
  std::vector<TokenType> types;
  std::vector<std::string_view> merges;  // "LEFT RIGHT", best first; copied by Vocabulary
  std::string charsmap;                  // tokenizer.ggml.precompiled_charsmap, may be empty
  SpecialTokens special;
  TokenizerFlags flags;
  std::vector<TokenId> strip_left;   // special tokens that absorb the white space before them
  std::vector<TokenId> strip_right;  // ... and after them
  std::vector<TokenId> whole_words;  // special tokens that are not found inside words
  std::vector<TokenId> more_ends;    // tokens that end a reply, besides those of `special`
  TextForms forms;                   // an empty one: default_forms()
  // How texts become tokens, if not as `kind` says; may be null.
  std::shared_ptr<const TokenizerPipeline> pipeline;
  std::int64_t n_tokens = 0;  // size of a vocabulary without texts; otherwise ignored
  std::vector<std::string> warnings;
};

class Vocabulary {
 public:
  // Throws FormatError if the parts do not fit together (lengths, more than 2^24 tokens, a score
  // that is not a number). Out-of-range special ids are dropped with a warning.
  explicit Vocabulary(VocabularyParts parts);
  ~Vocabulary();

  const std::string& kind() const;
  const std::string& pre() const;
  const std::string& chat_template() const;
  const std::string& tool_template() const;  // for conversations with tools, if they have their own
  std::int64_t size() const;                 // ids are 0 .. size() - 1
  bool has_texts() const;                    // false: ids only, cannot encode or decode

  // The token in the notation of the file (arbitrary bytes, possibly empty). REQUIRES: has_texts(),
  // 0 <= id < size().
  std::string_view text(TokenId id) const;
  float score(TokenId id) const;  // 0 if the file has no scores
  bool has_scores() const;
  TokenType type(TokenId id) const;
  // The id of a text; the highest one if several tokens have it; kNoToken for unknown and empty
  // texts.
  TokenId find(std::string_view text) const;

  std::int64_t n_merges() const;
  std::string_view merge(std::int64_t rank) const;

  const std::string& charsmap() const;
  // Null: texts become tokens as kind() says.
  const TokenizerPipeline* pipeline() const;
  const SpecialTokens& special() const;
  const TokenizerFlags& flags() const;
  // Special tokens that absorb the white space before or after them.
  bool strips_left(TokenId id) const;
  bool strips_right(TokenId id) const;
  // Special tokens that are found in a text only if no word character is next to them.
  bool is_whole_word(TokenId id) const;
  // How special tokens surround texts. Each form has its texts once.
  const TextForms& forms() const;
  // The first token before a text (forms().single); kNoToken if the text itself is first.
  TokenId opening() const;
  // True for eos, eot, eom and tokens whose text is known to end a reply (<|im_end|>, <|eot_id|>,
  // ...). The latter are control tokens regardless of their type in the file; a different type
  // causes a warning.
  bool ends_generation(TokenId id) const;

  const std::vector<std::string>& warnings() const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace weft

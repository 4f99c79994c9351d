#pragma once
// How special tokens surround a text or a pair of texts, as the post-processor of tokenizer.json
// says it: [CLS] A [SEP] B [SEP]. Plain values.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

using TokenId = std::int32_t;

// A place in a form: a token, or the tokens of a text. Encoders such as BERT add a learned vector
// for each type to the embeddings.
struct FormPart {
  enum class What : std::uint8_t { token, first, second };

  What what = What::token;
  TokenId id = -1;        // the token, if this is one
  std::int32_t type = 0;  // the type of the token, or of all tokens of the text; from 0 on
  bool operator==(const FormPart&) const = default;
};
using TextForm = std::vector<FormPart>;

// `single` has the first text once, `pair` has each of the two texts once.
struct TextForms {
  TextForm single, pair;
  bool no_pair = false;  // pairs of texts cannot be encoded, and `pair` is empty
  bool operator==(const TextForms&) const = default;
};

// The tokens before the first text of a form, and those after its last one.
std::vector<TokenId> tokens_before(const TextForm& form);
std::vector<TokenId> tokens_after(const TextForm& form);

struct SpecialTokens;
struct TokenizerFlags;

// The forms that the keys of GGUF files imply. Most kinds:
//   [bos] A [eos]                  [bos] A [eos] [sep] B [eos]
// those that are made for encoders (TokenizerKind::for_encoders):
//   [cls] A [sep]                  [cls] A [sep] B [sep], from B on of type 1
// where each token is left out unless the flags ask for it and the vocabulary has it.
TextForms default_forms(std::string_view kind, const TokenizerFlags& flags,
                        const SpecialTokens& special);

}  // namespace weft

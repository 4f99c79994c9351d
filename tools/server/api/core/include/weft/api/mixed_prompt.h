#pragma once
// Prompts of llama-server's interface: texts, ids of tokens, and both mixed.

#include <string>
#include <variant>
#include <vector>

#include "weft/api/forms.h"
#include "weft/run/model.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::api {

using PromptPart = std::variant<std::string, std::int64_t>;
using MixedPrompt = std::vector<PromptPart>;

// A text; ids and texts mixed; or a list of these, if it has no id of its own.
Form<std::vector<MixedPrompt>> mixed_prompts();

// Control tokens that texts spell out become these tokens. A text at the beginning gets the tokens
// that the vocabulary adds to texts. Throws ApiError with `param` for ids that the vocabulary does
// not have, and for a prompt without tokens.
std::vector<TokenId> encode_mixed(const Model& model, const MixedPrompt& prompt,
                                  const std::string& param);

// The same, possibly empty. `add_special`: as for a text at the beginning.
std::vector<TokenId> encode_parts(const Model& model, const MixedPrompt& prompt, bool add_special,
                                  const std::string& param);

// All of them by checked_token().
std::vector<TokenId> checked_ids(const Model& model, const std::vector<std::int64_t>& ids,
                                 const std::string& param);

}  // namespace weft::api

#pragma once
// Prompts as tokens.

#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The tokens of a text, including those that the vocabulary adds around it. At least one, because a
// model cannot start from nothing. Throws ValueError for an empty text if there is no BOS or EOS
// token, UnsupportedError if the model has no tokenizer.
std::vector<TokenId> encode_prompt(const Model& model, std::string_view text);

}  // namespace weft

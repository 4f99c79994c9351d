#pragma once
// Prompts as tokens.

#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The tokens of a prompt that the caller wrote as a whole: control tokens in it are read, and those
// that the vocabulary adds around a text are added. (What others wrote goes into a chat, where it
// stays text.) At least one token, because a model cannot start from nothing. Throws ValueError for
// an empty text if there is no BOS or EOS token, UnsupportedError if the model has no tokenizer.
std::vector<TokenId> encode_prompt(const Model& model, std::string_view text);

}  // namespace weft

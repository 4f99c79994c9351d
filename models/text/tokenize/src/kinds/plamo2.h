#pragma once
// Tokenizer kind "plamo2": the tokens with the maximum sum of scores, in fixed point, with bytes
// for characters that have no token. Source: tokenization_plamo.py beside the PLaMo-2 models.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults plamo2_defaults(std::string_view pre);
std::shared_ptr<const Tokenizer> make_plamo2(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

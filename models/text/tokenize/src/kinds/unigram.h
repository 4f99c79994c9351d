#pragma once
// Tokenizer kind "t5": the sequence of tokens whose scores have the maximum sum, over a text that
// was normalized first. Source: https://github.com/google/sentencepiece (model type unigram).

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults unigram_defaults(std::string_view pre);
std::shared_ptr<const Tokenizer> make_unigram(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

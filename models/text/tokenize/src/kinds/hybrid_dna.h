#pragma once
// Tokenizer kind "hybriddna": words as in kind "gpt2"; between <dna> and </dna>, six letters of a
// sequence are a token.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

std::shared_ptr<const Tokenizer> make_hybrid_dna(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

#pragma once
// Tokenizer kind "bert": a text is cleaned, split at white space and punctuation, and each
// word is covered by the longest tokens from its left. Source: the tokenizer of
// https://github.com/google-research/bert (tokenization.py) and the options of its successors.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults wordpiece_defaults(std::string_view pre);
std::shared_ptr<const Tokenizer> make_wordpiece(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

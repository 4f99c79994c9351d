#pragma once
// Kind "gpt2": byte-level BPE. A pre-tokenizer rule splits the text; within a piece, bytes are
// merged in the order of the merges list, the leftmost of equal pairs first. Source: Sennrich et
// al. 2016, arXiv:1508.07909; https://github.com/openai/gpt-2, encoder.py. The kinds "gemma4" and
// "whitespace" and some rules merge characters instead.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults bpe_defaults(std::string_view pre);

// Merges that name unknown tokens are ignored with a warning; an unknown pre-tokenizer name means
// the default rule, with a warning.
std::shared_ptr<const Tokenizer> make_bpe(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

#pragma once
// Kind "llama": SentencePiece BPE. Spaces become U+2581; of all neighbours whose joint text is a
// token, the pair with the highest score is joined first (the leftmost of equals), until none is
// left; characters without a token fall back to byte tokens "<0xXX>". Source: Kudo & Richardson
// 2018, arXiv:1808.06226, and the model type BPE of https://github.com/google/sentencepiece.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults spm_defaults(std::string_view pre);

// Throws FormatError if the vocabulary has no scores.
std::shared_ptr<const Tokenizer> make_spm(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

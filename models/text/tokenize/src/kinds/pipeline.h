#pragma once
// Tokenizers that a TokenizerPipeline describes. Source: see weft/tokenize/pipeline.h.

#include <memory>

#include "weft/tokenize/tokenizer_kinds.h"

namespace weft::tokenize {

KindDefaults pipeline_defaults(std::string_view pre);

// Throws FormatError if the vocabulary has no pipeline, or one that does not fit it.
std::shared_ptr<const Tokenizer> make_pipeline(std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace weft::tokenize

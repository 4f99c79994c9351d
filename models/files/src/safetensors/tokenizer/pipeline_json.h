#pragma once
// The pipeline of a tokenizer as a text in a model file: tokenizer.json without what other keys
// have (vocabulary, merges, character map, post-processor).

#include <cstddef>
#include <span>
#include <string_view>

#include "weft/tokenize/pipeline.h"

#include "safetensors/json.h"

namespace weft::safetensors {

// What read_pipeline() needs of a tokenizer.json. `unknown`: the model's unknown token, or -1.
Json reduce_to_pipeline(const JsonObject& tokenizer, std::int64_t unknown,
                        std::span<const AddedToken> added);

// `json`: what reduce_to_pipeline() returns. `n_tokens`: the size of the vocabulary. `scores`: of a
// unigram model. Throws UnsupportedError with the name of what is not supported, FormatError for
// ids outside the vocabulary.
TokenizerPipeline read_pipeline(const JsonObject& json, std::size_t n_tokens,
                                std::string_view charsmap, std::vector<double> scores);

}  // namespace weft::safetensors

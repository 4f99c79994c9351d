#pragma once
// The module LogitScore of sentence-transformers: a causal model ranks by its logits of a token for
// "yes" and one for "no", which follow the prompt with query and document.
// Source: sentence_transformers/cross_encoder/modules/logit_score.py.

#include <cstdint>
#include <optional>
#include <string>

#include "weft/files/metadata.h"

namespace weft::safetensors {

struct Config;
class Tensors;

struct LogitScore {
  std::uint64_t yes = 0;
  std::optional<std::uint64_t> no;  // absent: the score is the logit of `yes` alone
};

// Reads the config.json of the module in this folder. Throws FormatError, UnsupportedError, and
// IoError if there is none.
LogitScore read_logit_score(const std::string& folder);

// Adds the classifier that ranks alike, its rows those of the output matrix, the names of its
// outputs, and the template of the prompt. Only for models whose publisher's prompt is known (Qwen3
// Reranker); nothing for others. Throws FormatError for tokens beyond the vocabulary.
void add_classifier(const LogitScore& score, const std::string& file, const Config& config,
                    Tensors& tensors, MetadataSink& sink);

}  // namespace weft::safetensors

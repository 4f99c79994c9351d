#pragma once
// Reads tokenizer.json as the vocabulary keys of GGUF files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/keyed_hash.h"
#include "weft/files/metadata.h"
#include "weft/tokenize/text_form.h"

#include "safetensors/json.h"

namespace weft::safetensors {

struct TokenizerFacts {
  ForeignMap<std::string, std::uint32_t> ids;  // the id of every token by its text
  std::string kind;                            // tokenizer.ggml.model
  std::uint64_t n_vocab = 0;
  TextForms forms;  // the post-processor's; empty if it has none

  std::optional<std::uint32_t> find(std::string_view text) const;
};

// Adds tokenizer.ggml.model, .pre, .tokens, .token_type, .merges or .scores, and the unknown token:
// the nearest kind of tokenizer that GGUF files know. If that one does not give the same ids for
// every text, also the pipeline (weft.tokenizer.pipeline), which Weft uses instead. Ids up to
// `n_vocab` without a token become unused tokens. Throws UnsupportedError for components and flags
// that are not supported, FormatError for ids outside the vocabulary and for duplicate tokens.
TokenizerFacts read_tokenizer(const JsonObject& json, std::uint64_t n_vocab, MetadataSink& writer);

// Puts the settings of tokenizer_config.json that the tokenizers of BERT's kind prefer into
// tokenizer.json.
void apply_settings(const JsonObject& config, Json& tokenizer);

}  // namespace weft::safetensors

#pragma once
// The module Transformer of sentence-transformers: sentence_bert_config.json, or the same under the
// names that older versions gave it.
// Source: sentence_transformers/base/modules/transformer.py.

#include <cstdint>
#include <optional>
#include <string>

#include "safetensors/json.h"

namespace weft::safetensors {

struct TransformerModule {
  std::string file;                         // empty if there is none
  std::optional<std::uint32_t> max_tokens;  // max_seq_length, with special tokens
  bool lowercase = false;                   // do_lower_case
};

// Reads the file of the model in this folder. Throws FormatError for wrong types, UnsupportedError
// for outputs other than the last hidden states.
TransformerModule read_transformer_module(const std::string& folder);

// Makes the normalizer of tokenizer.json lowercase texts, if the module says so; accents are
// stripped as before. `settings`: tokenizer_config.json, whose do_lower_case is removed then.
// Throws UnsupportedError if it is not a BertNormalizer.
void apply_lowercase(const TransformerModule& module, Json& tokenizer, Json& settings);

}  // namespace weft::safetensors

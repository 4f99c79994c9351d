#pragma once
// tokenizer.json, as the keys that GGUF files have for vocabularies.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/files/metadata.h"

#include "safetensors/json.h"

namespace weft::safetensors {

struct TokenizerFacts {
  std::unordered_map<std::string, std::uint32_t> ids;  // of every token by its text
  bool begins = false, ends = false;  // the post-processor puts special tokens around a text
  bool separates = false;             // the one after a text is SEP, not EOS

  std::optional<std::uint32_t> find(std::string_view text) const;
};

// Adds tokenizer.ggml.model, .pre, .tokens, .token_type, .merges or .scores, and what marks unknown
// text. Byte-level BPE becomes kind "gpt2"; BPE with byte fallback, the form that SentencePiece
// models are given there, kind "llama". Ids up to `n_vocab` that no token has become unused ones.
// Throws UnsupportedError for other kinds of tokenizers and ways to normalize or split a text,
// FormatError for ids outside the vocabulary and texts that two tokens have.
TokenizerFacts read_tokenizer(const JsonObject& json, std::uint64_t n_vocab, MetadataSink& writer);

}  // namespace weft::safetensors

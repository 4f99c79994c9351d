#pragma once
// The vocabulary of a SentencePiece model (tokenizer.model, spiece.model), for directories without
// tokenizer.json. Source: https://github.com/google/sentencepiece, sentencepiece_model.proto.

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/files/metadata.h"

#include "safetensors/json.h"
#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {

// Adds the tokens of added_tokens.json, {"TEXT": ID, ...}, to the `added_tokens_decoder` of the
// settings, where older directories do not have them. Those that a setting or
// special_tokens_map.json names are special. Throws FormatError.
void add_older_tokens(const JsonObject& added, const JsonObject& special, Json& settings);

// Adds the keys of a vocabulary like read_tokenizer(). Kind "llama" for models of type BPE, "t5"
// for unigram models, which compute what the library does. `settings`: tokenizer_config.json, from
// which added tokens are read, and to which the class of the tokenizer and the names of special
// tokens are added if it does not have them. `file`: for messages. Throws FormatError for bytes
// that are not such a model, UnsupportedError for other types of models, and for classes of
// tokenizers and settings that give other ids than the model.
TokenizerFacts read_sentencepiece(std::string_view bytes, const std::string& file, Json& settings,
                                  const std::string& settings_file, std::uint64_t n_vocab,
                                  MetadataSink& writer);

}  // namespace weft::safetensors

#pragma once
// What accompanies the vocabulary: tokenizer_config.json, generation_config.json, chat templates.

#include <string>

#include "weft/files/metadata.h"

#include "safetensors/json.h"
#include "safetensors/tokenizer_json.h"

namespace weft::safetensors {

// Adds the ids of special tokens, whether texts begin and end with them, and the chat template. The
// names in tokenizer_config.json take precedence over the ids in generation_config.json, and these
// over those in config.json. Further ids that end a reply become eot and eom.
void read_special_tokens(const std::string& directory, const JsonObject& config,
                         const TokenizerFacts& tokenizer, MetadataSink& writer);

}  // namespace weft::safetensors

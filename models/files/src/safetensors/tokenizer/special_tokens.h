#pragma once
// Facts beside the vocabulary: the special tokens of a text, and those that end a reply.

#include <string>

#include "weft/files/metadata.h"

#include "safetensors/json.h"
#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {

// Adds the ids of special tokens and how they surround texts. A token's name in
// tokenizer_config.json takes precedence, then that in special_tokens_map.json, then its id in
// generation_config.json, then that in config.json, then that of the post-processor of
// tokenizer.json. Ids below 0 are none. Further ids that end a reply become eot, eom and a list.
//
// Texts have the tokens that the post-processor adds. `add_bos_token` and `add_eos_token` of
// tokenizer_config.json add some that it lacks, and remove them for the classes of tokenizers that
// rewrite their post-processor.
void read_special_tokens(const std::string& directory, const JsonObject& config,
                         const JsonObject& tokenizer_config, const TokenizerFacts& tokenizer,
                         MetadataSink& writer);

}  // namespace weft::safetensors

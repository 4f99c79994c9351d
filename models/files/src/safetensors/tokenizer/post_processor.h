#pragma once
// The post-processor of tokenizer.json: how special tokens surround texts and pairs.

#include "weft/tokenize/text_form.h"

#include "safetensors/json.h"
#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {

// Both forms are empty if the post-processor is absent or only concerns offsets. Throws
// UnsupportedError for other types, for several processors that add tokens, and for templates that
// lack a text or have one twice; FormatError for
// templates that name unknown tokens. `tokens`: the vocabulary.
TextForms read_post_processor(const JsonObject& json, const TokenizerFacts& tokens);

}  // namespace weft::safetensors

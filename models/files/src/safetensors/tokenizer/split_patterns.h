#pragma once
// Maps the way in which tokenizer.json splits texts before merging to a name of tokenizer.ggml.pre.

#include <string>
#include <string_view>

#include "safetensors/json.h"

namespace weft::safetensors {

// `pre_tokenizer`: the object in tokenizer.json. Throws UnsupportedError with the patterns if there
// is no name for them.
std::string_view find_pre_tokenizer_name(const JsonObject& pre_tokenizer, bool ignore_merges);

}  // namespace weft::safetensors

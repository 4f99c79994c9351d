#pragma once
// How tokenizer.json says that texts are split before merging, and which name of
// tokenizer.ggml.pre means the same.

#include <string>
#include <string_view>

#include "safetensors/json.h"

namespace weft::safetensors {

// `pre_tokenizer`: that object of tokenizer.json. Throws UnsupportedError, which shows the
// patterns, if no name means them.
std::string_view find_pre_tokenizer_name(const JsonObject& pre_tokenizer, bool ignore_merges);

}  // namespace weft::safetensors

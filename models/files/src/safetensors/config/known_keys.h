#pragma once
// The keys of config.json that Weft knows: those that it reads or checks, and those that do not
// change the results of a model. Together they are the list of an architecture.

#include <string_view>

#include "weft/arch/hugging_face.h"

#include "safetensors/json.h"

namespace weft::safetensors {

bool is_known_key(const arch::HuggingFace& tables, std::string_view key);

// Throw UnsupportedError "FILE: 'KEY' is VALUE, a setting that Weft does not know ..." for the
// first unknown key whose value is not null, false, 0 or empty: those say that something is off.
// The first function is for config.json or its text_config, the second for settings of rope.
void check_known_keys(const JsonObject& json, const arch::HuggingFace& tables);
void check_known_rope_keys(const JsonObject& rope);

}  // namespace weft::safetensors

#pragma once
// Maps the way in which tokenizer.json splits texts before merging to a name of tokenizer.ggml.pre.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safetensors/json.h"

namespace weft::safetensors {

// A rule has at most this many patterns.
inline constexpr std::size_t kMaxRulePatterns = 8;

// The pattern of a stage that splits a text at its matches, so that these and the text between them
// are pieces; nothing for other stages. Runs of digits and of punctuation have names of their own.
std::optional<std::string> rule_pattern(const JsonObject& stage);

// The rule whose stages have these patterns, in this order; empty if there is none. If several
// have, the one that also agrees in `ignore_merges`, if it is given, otherwise the first.
std::string_view find_pre_tokenizer_name(const std::vector<std::string>& patterns,
                                         std::optional<bool> ignore_merges = std::nullopt);

// The name for all of `stages`, the last of which writes bytes (ByteLevel); empty if there is none
// that also agrees in `ignore_merges`.
std::string_view find_byte_level_name(std::span<const JsonObject> stages, bool ignore_merges);

// Some files have literal line ends in their patterns, others have escapes.
std::string with_escapes(const std::string& pattern);

}  // namespace weft::safetensors

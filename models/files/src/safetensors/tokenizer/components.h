#pragma once
// The components of tokenizer.json: what each one becomes. One row for every type that tokenizers
// 0.23 knows; a type or a key without a row is refused by name.

#include <span>
#include <string_view>
#include <vector>

#include "weft/tokenize/pipeline.h"

#include "safetensors/json.h"

namespace weft::safetensors {

// The stage of a component, by its key in tokenizer.json.
inline constexpr std::string_view kNormalizer = "normalizer", kPreTokenizer = "pre_tokenizer",
                                  kPostProcessor = "post_processor", kDecoder = "decoder",
                                  kModel = "model";

enum class ComponentUse { read, harmless, refused };

struct ComponentRow {
  std::string_view stage, type;
  std::string_view keys;  // besides "type", with spaces between them; all others are refused
  ComponentUse use = ComponentUse::read;
};

std::span<const ComponentRow> component_rows();
// Whether `key` is one of `keys`, which have spaces between them.
bool is_one_of(std::string_view key, std::string_view keys);

// The components of a stage in order, those of sequences included. Throws UnsupportedError, with
// the name, for types that are not read or harmless, and for unknown keys that are set.
std::vector<JsonObject> components(const JsonObject& json, std::string_view stage);

// Throws UnsupportedError for a key that is not one of `known` (see is_one_of()), nor "type",
// unless its value says "off": null, false, 0 or an empty text.
void refuse_unknown_keys(const JsonObject& json, std::string_view known);

// `charsmap`: the table of a component "Precompiled".
std::vector<normalize::Step> read_normalizers(const JsonObject& json, std::string_view charsmap);
std::vector<split::Step> read_splits(const JsonObject& json);

}  // namespace weft::safetensors

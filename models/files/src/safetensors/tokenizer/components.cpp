#include "safetensors/tokenizer/components.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft::safetensors {
namespace {

using Use = ComponentUse;

constexpr std::size_t kMaxComponents = 32;  // per stage; published files have up to six

constexpr std::string_view kSpaceKeys = "replacement str_rep prepend_scheme add_prefix_space split";

constexpr ComponentRow kRows[] = {
    {kNormalizer, "Sequence", "normalizers"},
    {kNormalizer, "BertNormalizer", "clean_text handle_chinese_chars strip_accents lowercase"},
    {kNormalizer, "Strip", "strip_left strip_right"},
    {kNormalizer, "StripAccents", ""},
    {kNormalizer, "NFC", ""},
    {kNormalizer, "NFD", ""},
    {kNormalizer, "NFKC", ""},
    {kNormalizer, "NFKD", ""},
    {kNormalizer, "Lowercase", ""},
    {kNormalizer, "Nmt", ""},
    {kNormalizer, "Precompiled", "precompiled_charsmap"},
    {kNormalizer, "Replace", "pattern content"},
    {kNormalizer, "Prepend", "prepend"},
    {kNormalizer, "ByteLevel", ""},
    {kPreTokenizer, "Sequence", "pretokenizers"},
    {kPreTokenizer, "BertPreTokenizer", ""},
    {kPreTokenizer, "ByteLevel", "add_prefix_space use_regex trim_offsets"},
    {kPreTokenizer, "CharDelimiterSplit", "delimiter"},
    {kPreTokenizer, "Metaspace", kSpaceKeys},
    {kPreTokenizer, "Whitespace", ""},
    {kPreTokenizer, "WhitespaceSplit", ""},
    {kPreTokenizer, "Split", "pattern behavior invert"},
    {kPreTokenizer, "Punctuation", "behavior"},
    {kPreTokenizer, "Digits", "individual_digits"},
    {kPreTokenizer, "FixedLength", "length"},
    {kPreTokenizer, "UnicodeScripts", "", Use::refused},
    {kModel, "BPE",
     "dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback "
     "ignore_merges vocab merges"},
    {kModel, "Unigram", "unk_id vocab byte_fallback"},
    {kModel, "WordPiece", "unk_token continuing_subword_prefix max_input_chars_per_word vocab"},
    {kModel, "WordLevel", "unk_token vocab"},
    {kPostProcessor, "Sequence", "processors"},
    {kPostProcessor, "TemplateProcessing", "single pair special_tokens"},
    {kPostProcessor, "BertProcessing", "sep cls"},
    // Keys about spaces concern only where tokens were found in a text.
    {kPostProcessor, "RobertaProcessing", "sep cls trim_offsets add_prefix_space"},
    {kPostProcessor, "ByteLevel", "add_prefix_space trim_offsets use_regex", Use::harmless},
    {kDecoder, "Sequence", "decoders"},
    {kDecoder, "ByteLevel", "add_prefix_space trim_offsets use_regex"},
    {kDecoder, "ByteFallback", ""},
    {kDecoder, "Metaspace", kSpaceKeys},
    {kDecoder, "Replace", "pattern content"},
    {kDecoder, "BPEDecoder", "suffix", Use::harmless},  // the model says the same
    {kDecoder, "WordPiece", "prefix cleanup", Use::harmless},
    {kDecoder, "Fuse", "", Use::harmless},
    // The space before a text, which programs remove when they ask for it.
    {kDecoder, "Strip", "content start stop", Use::harmless},
    {kDecoder, "CTC", "", Use::refused},
};

std::string_view list_of(std::string_view stage) {
  return stage == kNormalizer      ? "normalizers"
         : stage == kPreTokenizer  ? "pretokenizers"
         : stage == kPostProcessor ? "processors"
                                   : "decoders";
}

bool says_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0;
}

void add(const JsonObject& component, std::string_view stage, std::vector<JsonObject>& all) {
  const std::string type = component.find_string("type").value_or("");
  const auto rows = component_rows();
  const auto row = std::ranges::find_if(
      rows, [&](const ComponentRow& r) { return r.stage == stage && r.type == type; });
  if (row == rows.end() || row->use == Use::refused) {
    fail<UnsupportedError>("{}: '{}' of type '{}' is not supported",
                           printable_path(component.file()), stage, printable(type));
  }
  refuse_unknown_keys(component, row->keys);
  if (all.size() >= kMaxComponents) {
    fail<UnsupportedError>("{}: '{}' has more than {} components", printable_path(component.file()),
                           stage, kMaxComponents);
  }
  if (type != "Sequence") return all.push_back(component);
  const std::string_view list = list_of(stage);
  const Json* inner = component.find(list);
  if (!inner || !inner->is_array()) component.mismatch(list, "an array");
  for (const Json& one : *inner)
    add(JsonObject(one, component.file(), component.name(list)), stage, all);
}

}  // namespace

std::span<const ComponentRow> component_rows() {
  return kRows;
}

bool is_one_of(std::string_view key, std::string_view keys) {
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(' ', at), keys.size());
    if (keys.substr(at, end - at) == key) return true;
    at = end + 1;
  }
  return false;
}

void refuse_unknown_keys(const JsonObject& json, std::string_view known) {
  for (const auto& [key, value] : json.json().items()) {
    if (key == "type" || says_off(value) || is_one_of(key, known)) continue;
    fail<UnsupportedError>("{}: '{}' is {}: this key is not known", printable_path(json.file()),
                           json.name(key), printable(value.dump(), 300));
  }
}

std::vector<JsonObject> components(const JsonObject& json, std::string_view stage) {
  std::vector<JsonObject> all;
  if (const auto component = json.find_object(stage)) add(*component, stage, all);
  return all;
}

}  // namespace weft::safetensors

#pragma once
// The one list of tokenizer kinds: the values of tokenizer.ggml.model that can be encoded.

#include <memory>
#include <span>
#include <string_view>

#include "weft/tokenize/tokenizer.h"
#include "weft/tokenize/vocabulary.h"

namespace weft {

// The values of a kind for keys that the file lacks.
struct KindDefaults {
  TokenizerFlags flags;
  SpecialTokens special;
};

struct TokenizerKind {
  std::string_view name;
  KindDefaults (*defaults)(std::string_view pre);
  std::shared_ptr<const Tokenizer> (*make)(std::shared_ptr<const Vocabulary> vocabulary);
  // The pre-tokenizer rule that the kind implies; empty: the one that the file names.
  std::string_view rule = {};
  bool needs_bos = false;  // overrides the file
  // Texts and pairs are surrounded as BERT reads them: see default_forms() in text_form.h.
  bool for_encoders = false;
};

std::span<const TokenizerKind> tokenizer_kinds();

// Null for kinds that are not in the list.
const TokenizerKind* find_tokenizer_kind(std::string_view name);

}  // namespace weft

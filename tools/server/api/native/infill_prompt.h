#pragma once
// Prompts for text in the middle of another one.

#include <string>
#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::api {

struct InfillFile {
  std::string name, text;
};

struct InfillText {
  std::string_view prefix, suffix;
  std::vector<InfillFile> files = {};      // other files, for context
  std::vector<TokenId> after_prefix = {};  // the beginning of the middle
};

// Whether the vocabulary has the tokens for it.
bool can_infill(const Model& model);

// PREFIX prefix SUFFIX suffix MIDDLE, with the files before it if the vocabulary has tokens for
// them. Throws ApiError 501 unless can_infill().
std::vector<TokenId> infill_prompt(const Model& model, const InfillText& text);

}  // namespace weft::api

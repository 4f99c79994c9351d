#pragma once
// Prompts for text in the middle of another one.

#include <string>
#include <string_view>
#include <vector>

#include "weft/api/prompt_fields.h"

namespace weft::api {

struct InfillFile {
  std::string name, text;
};

struct InfillText {
  PromptText prefix;
  std::string_view suffix;
  std::vector<InfillFile> files = {};      // other files, for context
  std::vector<TokenId> after_prefix = {};  // the beginning of the middle
};

// PREFIX prefix SUFFIX suffix MIDDLE, with the files before it. BOS is the first token if the
// vocabulary begins texts with it; if the prefix has ids, if they begin with it. Throws ApiError
// 501 if the vocabulary does not have these tokens, and 400 for wrong ids of the prefix.
std::vector<TokenId> infill_prompt(const ServedModel& model, const InfillText& text);

// The same for the field "suffix" of a request that usually continues a prompt. Throws ApiError 400
// for that field if the vocabulary does not have the tokens: the endpoint itself is supported.
std::vector<TokenId> infill_prompt_of_suffix(const ServedModel& model, PromptText prefix,
                                             std::string_view suffix);

}  // namespace weft::api

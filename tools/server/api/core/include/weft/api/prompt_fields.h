#pragma once
// Prompts that are not chats: texts, ids of tokens, and lists of either.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/context.h"
#include "weft/api/fields.h"

namespace weft::api {

// A text, or ids of tokens if there is no text.
struct PromptText {
  std::string text;
  std::vector<TokenId> ids;
  bool is_ids = false;
};

// A text, a list of ids, or a list of texts and of lists of ids. Wrong values are errors of the
// whole field.
Form<std::vector<PromptText>> prompts_form(std::size_t max = 1024);

// The id, if the vocabulary has it. Throws ApiError 400 with `param`.
TokenId checked_token(const Model& model, std::int64_t id, std::string_view param);

// The tokens of a prompt, with those that the vocabulary adds to texts. Throws ApiError 400 with
// `param` for ids that the vocabulary does not have and for a prompt without tokens.
std::vector<TokenId> prompt_tokens(const ServedModel& model, const PromptText& prompt,
                                   const std::string& param);

}  // namespace weft::api

#include "weft/serve/prompt.h"

#include "weft/base/error.h"

namespace weft {

std::vector<TokenId> encode_prompt(const Model& model, std::string_view text) {
  std::vector<TokenId> tokens = model.tokenizer().encode(text, {.parse_special = true});
  const SpecialTokens& special = model.vocabulary().special();
  const TokenId begin = special.bos != kNoToken ? special.bos : special.eos;
  if (tokens.empty() && begin != kNoToken) tokens.push_back(begin);
  if (tokens.empty()) fail<ValueError>("the prompt is empty and the model has no BOS token");
  return tokens;
}

}  // namespace weft

#include "weft/tokenize/token_healing.h"

#include <algorithm>

#include "weft/tokenize/logits.h"

namespace weft {

TokenHealing::TokenHealing(const Tokenizer& tokenizer, std::vector<TokenId>& tokens)
    : tokenizer_(tokenizer) {
  if (tokens.size() < 2) return;
  const TokenId last = tokens.back();
  if (tokenizer.hidden(last) || tokenizer.vocabulary().type(last) == TokenType::user_defined)
    return;
  text_ = tokenizer.bytes(last);
  bool others = false;
  for (TokenId id = 0; id < tokenizer.vocabulary().size() && !others; ++id)
    others = id != last && allowed(id);
  if (!others) text_.clear();
  if (text_.empty()) return;
  tokens.pop_back();
  n_seen_ = text_.size();
}

bool TokenHealing::allowed(TokenId id) const {
  return !tokenizer_.hidden(id) && tokenizer_.bytes(id).starts_with(text_);
}

std::span<const float> TokenHealing::only_allowed(std::span<const float> logits,
                                                  std::vector<float>& copy) const {
  if (text_.empty()) return logits;
  std::vector<float> kept(logits.begin(), logits.end());
  for (std::size_t id = 0; id < kept.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (token >= tokenizer_.vocabulary().size() || !allowed(token)) kept[id] = kForbidden;
  }
  copy = std::move(kept);
  return copy;
}

std::string_view TokenHealing::without_seen(std::string_view output) {
  const std::size_t n = std::min(n_seen_, output.size());
  n_seen_ -= n;
  output.remove_prefix(n);
  return output;
}

}  // namespace weft

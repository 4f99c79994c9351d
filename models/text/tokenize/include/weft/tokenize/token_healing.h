#pragma once
// A prompt that ends within a word is tokenized differently from the same prompt with the rest of
// the word, and models have rarely seen the former. Token healing removes the last token and lets
// the model choose among the tokens that begin with its text.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/tokenizer.h"

namespace weft {

class TokenHealing {
 public:
  // Removes the last of `tokens`, unless it is the only one, a special one, or no other token
  // begins with its text. Keeps a reference to the tokenizer.
  TokenHealing(const Tokenizer& tokenizer, std::vector<TokenId>& tokens);

  // The text that was removed and must be generated again; empty if nothing was removed.
  const std::string& text() const { return text_; }

  // For the first token that is chosen: the logits of those that begin with text(), at least one,
  // and minus infinity for all others. `copy` holds the result if it differs from `logits`.
  std::span<const float> only_allowed(std::span<const float> logits,
                                      std::vector<float>& copy) const;
  // Output of a Detokenizer without text(), which the reader has already seen.
  std::string_view without_seen(std::string_view output);

 private:
  bool allowed(TokenId id) const;

  const Tokenizer& tokenizer_;
  std::string text_;
  std::size_t n_seen_ = 0;
};

}  // namespace weft

#pragma once
// A text that ends within a word is cut into other tokens than the same text with the rest of the
// word behind it, and a model has rarely seen the former. Token healing takes the last token off
// and lets the model choose among the tokens that begin with its text.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/tokenizer.h"

namespace weft {

class TokenHealing {
 public:
  // Takes the last of `tokens` off, unless it is the only one, a special one, or no other token
  // begins with its text. Keeps a reference to the tokenizer.
  TokenHealing(const Tokenizer& tokenizer, std::vector<TokenId>& tokens);

  // What was taken off and must be said again; empty where nothing was.
  const std::string& text() const { return text_; }

  // For the first token that is chosen: the logits of those that begin with text(), and minus
  // infinity for all others. There is one at least. `copy` holds the result, where it differs.
  std::span<const float> only_allowed(std::span<const float> logits,
                                      std::vector<float>& copy) const;
  // What comes out of a Detokenizer, without text(), which the reader has seen already.
  std::string_view without_seen(std::string_view output);

 private:
  bool allowed(TokenId id) const;

  const Tokenizer& tokenizer_;
  std::string text_;
  std::size_t n_seen_ = 0;
};

}  // namespace weft

#pragma once
// How drafts that compute logits choose their guesses.

#include <optional>
#include <span>
#include <vector>

#include "weft/serve/draft.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::serve {

class Likeliest {
 public:
  // A guess whose probability is below p_min is none. `ids`: the tokens that logits are of, which
  // outlive it; empty: all of them in order.
  Likeliest(const Vocabulary& vocabulary, float p_min, std::span<const TokenId> ids = {})
      : vocabulary_(vocabulary), p_min_(p_min), ids_(ids) {}

  // Appends the likeliest token that the rules allow, which they then follow. False: there is no
  // guess, or none can come after it: the text would end, or has no more room.
  bool add(std::span<const float> logits, const DraftRequest& request,
           std::vector<TokenId>& guesses);

 private:
  const Vocabulary& vocabulary_;
  float p_min_;
  std::span<const TokenId> ids_;
  std::vector<float> row_;
};

}  // namespace weft::serve

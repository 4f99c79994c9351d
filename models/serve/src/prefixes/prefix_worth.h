#pragma once
// What kept tokens are worth: the seconds that it takes to compute them, divided by their bytes,
// times a weight that grows with each use, plus the worth of what was evicted last: so what is not
// used any more grows old. The rule is GreedyDual-Size-Frequency (Cherkasova 1998).

#include "weft/run/kept_texts.h"

#include "prefixes/prompt_price.h"
#include "prefixes/use.h"

namespace weft::serve {

class PrefixWorth {
 public:
  explicit PrefixWorth(const Session& session) : bytes_(kept_bytes(session)) {}

  // The tokens begin .. end - 1 were used so often. `is_leaf`: a text ends with them.
  Use used(std::int64_t hits, std::int64_t begin, std::int64_t end, bool is_leaf);
  // The worth of tokens that nobody has used again.
  double of_new() const { return evicted_ + 1; }
  void evicted(const Use& use);
  // What the model's memory takes for so many texts and tokens.
  std::int64_t bytes(std::int64_t n_texts, std::int64_t n_tokens) const;
  // What computing prompts takes, as measured.
  PromptPrice& price() { return price_; }

 private:
  const KeptBytes bytes_;
  PromptPrice price_;
  std::uint64_t n_uses_ = 0;
  double evicted_ = 0;  // the most that anything evicted was worth
};

}  // namespace weft::serve

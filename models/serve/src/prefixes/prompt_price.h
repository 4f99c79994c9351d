#pragma once
// What a token of a prompt costs, by the number of tokens before it: a line through what steps
// took.

#include <cstdint>

namespace weft::serve {

class PromptPrice {
 public:
  // A step computed that many tokens of prompts, and nothing else; `depth`: the tokens before them,
  // on average.
  void measured(std::int64_t n_tokens, double depth, double seconds);
  // The seconds of a token at this depth, divided by those of a text's first token; 1 before enough
  // was measured.
  double relative(double depth) const;
  // The seconds of a token at this depth; 0 before anything was measured.
  double seconds(double depth) const;

 private:
  // Sums over steps: tokens, tokens x depth, tokens x depth^2, seconds, seconds x depth. Older
  // steps count less.
  double n_ = 0, nd_ = 0, ndd_ = 0, s_ = 0, sd_ = 0;
};

}  // namespace weft::serve

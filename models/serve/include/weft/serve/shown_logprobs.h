#pragma once
// Log-probabilities of the tokens of a text, in step with the text that is shown: those of tokens
// whose text is held back come when it is shown, and those of a stop string never come.

#include <cstdint>
#include <vector>

#include "weft/sample/logprobs.h"
#include "weft/serve/generation.h"

namespace weft {

class ShownLogprobs {
 public:
  // What can be shown after an event with these members (GenerationEvent), in order. `row`: null if
  // the event has none.
  std::vector<TokenLogprobs> push(const TokenLogprobs* row, std::int64_t n_unshown,
                                  StopReason stop);

 private:
  std::vector<TokenLogprobs> held_;
};

}  // namespace weft

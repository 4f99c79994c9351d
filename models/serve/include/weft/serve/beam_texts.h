#pragma once
// The most likely texts as a whole, under the same rules as texts that are drawn.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/sample/beam_search.h"
#include "weft/serve/generation.h"

namespace weft {

struct BeamTexts {
  struct Found {
    Hypothesis hypothesis;
    std::string text;  // as the generation would have shown it; empty without a tokenizer
  };
  std::vector<Found> best;  // best first
  std::int64_t n_steps = 0;
  bool cancelled = false;  // `best` is what was found until then
};

// Searches behind the prompt of a generation that has no new tokens yet, over all sequences of its
// session: the contents of the others are lost. Rules, ignore_eos, max_tokens and cancel() of the
// generation hold for every text; its sampler is not asked. `options.max_tokens` is ignored. The
// generation has ended afterwards, and holds of its prompt what can be gone on from. Throws
// ValueError if it is not in sequence 0, and like SessionBeams and BeamSearch.
BeamTexts search_texts(Generation& from, BeamOptions options);

}  // namespace weft

#pragma once
// Beam search for the most likely whole texts, under the same rules as sampled texts.

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
  bool cancelled = false;  // `best` is what had been found by then
};

// Searches for continuations of the prompt of a generation that has no new tokens yet. Uses all
// sequences of its session: the contents of the others are lost. Rules, ignore_eos, max_tokens and
// cancel() of the generation apply to every text; its sampler is not used. `options.max_tokens` is
// ignored. Afterwards the generation has ended, and its sequence holds the prompt up to a resume
// point. Throws ValueError if it is not in sequence 0 or heals its prompt, and like SessionBeams
// and BeamSearch.
BeamTexts search_texts(Generation& from, BeamOptions options);

}  // namespace weft

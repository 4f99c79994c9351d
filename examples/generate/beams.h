#pragma once
// generate --beams: the most likely texts as a whole.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/sample/beam_search.h"

#include "common/constraint_flags.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct BeamFlags {
  std::int32_t beams = 0;  // 0: no search
  double length_penalty = 1.0;
  EarlyStopping stopping = EarlyStopping::likely;
};
void add_beam_flags(CLI::App& app, BeamFlags& flags);

struct FoundTexts {
  std::vector<Hypothesis> best;
  std::int64_t n_steps = 0;
  bool interrupted = false;
};

// Goes on from sequence 0, whose last logits the session has. The texts keep the rules, and are cut
// after `most_tokens`. Ctrl-C ends the search with what was found so far.
FoundTexts search_texts(Session& session, TextRules& rules, const BeamFlags& flags, bool ignore_eos,
                        std::int64_t most_tokens);

// "beam 1: score -0.5123, log probability -12.29, 24 tokens\n"
std::string describe(std::size_t number, const Hypothesis& found);

}  // namespace weft::cli

#pragma once
// What drafts gain: the same texts with and without them, in turn.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/measure/bench.h"
#include "weft/serve/speculation.h"

namespace weft::bench {

struct DraftTest {
  std::vector<TokenId> prompt;
  std::int64_t tokens = 128;  // that each text has
  std::int64_t repeats = 5;
  // Guesses cost what they cost, but are right with this probability each, whatever the draft says.
  std::optional<double> acceptance = {};
};

struct DraftReport {
  Series without, with;         // tokens per second
  Series gain;                  // with / without, of runs in turn
  SpeculationCounters drafted;  // in the measured runs
  std::int64_t n_steps = 0;     // with drafts
};

// Greedy texts of exactly that many tokens. `plain` has no draft layer. The sessions are of the
// same model, `speculation` is of `session`. Throws Error if a text with drafts differs,
// CancelledError if `cancel` became true, and like Generation.
DraftReport measure_drafts(Session& plain, Session& session, const Speculation& speculation,
                           const DraftTest& test, const std::atomic<bool>* cancel = nullptr);

std::string to_text(const DraftReport& report, const DraftTest& test);
std::string to_json(const DraftReport& report, const DraftTest& test);  // with a newline at the end

}  // namespace weft::bench

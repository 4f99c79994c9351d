#pragma once
// How long a step takes, found without running all of it if it is long.

#include <atomic>
#include <cstdint>

#include "weft/run/session.h"

namespace weft::bench {

// Seconds of feeding n tokens at once to sequence 0, which has at least `depth` tokens. Runs it for
// about `limit` seconds: again and again, or as many of its stages as that is enough for. The time
// of the other stages is that of the same kind, or else in proportion to their multiply-adds.
// REQUIRES: n_tokens <= prefill_width. Throws CancelledError if `cancel` became true.
double step_seconds(Session& session, std::int64_t depth, std::int64_t n_tokens, double limit,
                    const std::atomic<bool>* cancel);

// Seconds of each of some steps of one token, which follow each other.
double decode_seconds(Session& session, std::int64_t depth, double limit,
                      const std::atomic<bool>* cancel);

}  // namespace weft::bench

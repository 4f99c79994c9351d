#pragma once
// How long a step takes, found without running all of it if it is long.

#include <atomic>
#include <cstdint>

#include "weft/run/session.h"

namespace weft::bench {

// Seconds of feeding n tokens at once to sequence 0, which has at least `depth` tokens. Runs it for
// about `limit` seconds: again and again, or as many of its stages as that is enough for. The time
// of the other stages is that of the same kind, or else in proportion to their multiply-adds.
// REQUIRES: 1 <= n_tokens <= prefill_width, limit > 0. Throws CancelledError if `cancel` became
// true.
double step_seconds(Session& session, std::int64_t depth, std::int64_t n_tokens, double limit,
                    const std::atomic<bool>* cancel);

// The median of the seconds of steps of one token, which follow each other: at least two, the first
// of which does not count. REQUIRES: the context has room for a token after `depth`.
double decode_seconds(Session& session, std::int64_t depth, double limit,
                      const std::atomic<bool>* cancel);

}  // namespace weft::bench

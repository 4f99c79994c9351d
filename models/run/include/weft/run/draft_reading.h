#pragma once
// Has a session's draft layer read a text, as training does: each token with what the model made of
// the one before. For measurements; drafts of texts need none of it.

#include <atomic>
#include <cstdint>

#include "weft/run/session.h"

namespace weft {

// The layer reads the tokens of the sequence that it has not read. Steps have it read some of them,
// now and then. Throws ValueError if the session has no draft layer
// (SessionOptions::draft_layer), and like Session::draft().
void read_for_drafts(Session& session, std::int32_t sequence,
                     const std::atomic<bool>* cancel = nullptr);
// From now on, whatever runs the layer calls the observer, which outlives its use; null: none.
void observe_drafts(Session& session, NodeObserver* observer);

}  // namespace weft

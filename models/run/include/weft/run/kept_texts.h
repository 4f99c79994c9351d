#pragma once
// What a session keeps of texts beside those that grow: its kept sequences, and the lengths from
// which sequences of models with windows or recurrent states can be continued. For stores of
// prefixes, which decide what is worth the room of SessionOptions::kept_tokens.
//
// Threads: as functions of the session.

#include <cstdint>
#include <vector>

#include "weft/run/session.h"

namespace weft {

// The sequence is to be continued from this length, too. When a step passes it, what that needs of
// windows and recurrent states is kept as long as there is room. No effect on memory of all tokens.
// Throws ValueError for a sequence that does not grow.
void mark(Session& session, std::int32_t sequence, std::int64_t length);

// The positions for which there is room for everything that is kept while there is: as
// Session::free_positions(), and also windows and checkpoints.
std::int64_t spare_positions(const Session& session);

// The ids of at most n tokens of any sequence, from one position on.
std::vector<std::int32_t> held_tokens(const Session& session, std::int32_t sequence,
                                      std::int64_t from, std::int64_t n);

// The bytes of a kept text, in all layers.
struct KeptBytes {
  double per_token = 0, per_sequence = 0;
};
KeptBytes kept_bytes(const Session& session);

// Gives the pages of memory that hold nothing back to the system: those of positions and recurrent
// states that no sequence has; if `idle`, also those of activations, after which logits() is
// undefined until the next step. They come back when they are used. No effect on a device's memory.
void release_unused(Session& session, bool idle);

}  // namespace weft

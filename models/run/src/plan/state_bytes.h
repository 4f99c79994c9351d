#pragma once
// The bytes of a session's states, by the quantity on which they depend.

#include <cstdint>
#include <vector>

#include "weft/run/session.h"

namespace weft::run {

struct StateBytes {
  std::int64_t fixed = 0;     // shared by all sequences
  std::int64_t sequence = 0;  // per sequence: windows, recurrent states, encoded texts
  std::int64_t block = 0;     // per block of cells, in all layers
  // Per block of kept tokens (SessionOptions::kept_tokens), in all layers, and per kept sequence.
  std::int64_t kept_block = 0, kept_sequence = 0;

  // At most that; parts may share the rest of a block.
  std::int64_t of(std::int64_t n_sequences, std::int64_t n_blocks) const {
    return fixed + n_sequences * sequence + n_blocks * block;
  }
};

// On the host. Encoded texts count for the contexts of the plan.
StateBytes state_bytes(const PlannedModel& planned);

// The bytes of MemoryUse::state by kind, the largest first.
std::vector<MemoryUse::Named> states_by_kind(const PlannedModel& planned);

}  // namespace weft::run

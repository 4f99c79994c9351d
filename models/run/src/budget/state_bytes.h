#pragma once
// What the states of a session cost, by what their number depends on.

#include <cstdint>
#include <vector>

#include "weft/run/session.h"

namespace weft::run {

struct StateBytes {
  std::int64_t fixed = 0;     // of all sequences together
  std::int64_t sequence = 0;  // of each: windows, recurrent states, encoded texts
  std::int64_t block = 0;     // of each block of cells, in all layers

  // At most that; parts may share what is left of a block.
  std::int64_t of(std::int64_t n_sequences, std::int64_t n_blocks) const {
    return fixed + n_sequences * sequence + n_blocks * block;
  }
};

// On the host. Encoded texts count for the contexts of the plan.
StateBytes state_bytes(const PlannedModel& planned);

// The bytes of MemoryUse::state by kind, the largest first.
std::vector<MemoryUse::Named> states_by_kind(const PlannedModel& planned);

}  // namespace weft::run

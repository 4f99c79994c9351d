#pragma once
// How many sequences a session has, and how long they may be.

#include <cstdint>

namespace weft::run {

// The first `sequences` grow by steps; the `kept` ones behind them only hold what was copied to
// them. All kinds of memory need these numbers.
struct MemoryLimits {
  std::int64_t sequences = 1, context = 1, kept = 0;

  std::int64_t all() const { return sequences + kept; }
};

}  // namespace weft::run

#pragma once
// How much memory the control group and the machine of this process have left while it runs: what
// other processes take and give back changes it.

#include <cstdint>
#include <limits>
#include <string>

namespace weft {

struct MemoryRoom {
  // Bytes that this process may still take before the system takes from somebody, or ends a
  // process. Negative if more is in use than the limit allows. The maximum if nothing limits it.
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  // The limit that leaves the least, and its name: "memory.max of the control group", "memory.high
  // of the control group", "the machine's memory".
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  std::string name;
  // The part of the last 10 s in which some task of the group, or else of the machine, waited for
  // memory (pressure stall information): 0 to 1. 0 if the system does not tell.
  double stalled = 0;
};

// Pages of files that nobody has used for a while count as free, because the system can drop them,
// but for those of `needed_cache` bytes: weights that are mapped, say. Reads control groups of
// version 1 and 2, also those around the one of this process, and /proc. What cannot be read does
// not limit. Any thread; takes some 100 us.
MemoryRoom memory_room(std::int64_t needed_cache = 0);

// Bytes of memory that this process has now, without pages of files. 0 if the system does not tell.
std::int64_t anonymous_bytes();

}  // namespace weft

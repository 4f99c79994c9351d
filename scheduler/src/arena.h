#pragma once
// Packs tensors into the arena: who lives in overlapping stages shares no bytes. Knows nothing of
// graphs.

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::scheduler {

struct ArenaItem {
  std::int64_t bytes = 0;                        // a multiple of kAlignment
  std::int32_t first_stage = 0, last_stage = 0;  // inclusive
  std::int64_t offset = 0;                       // set by pack_arena
};

struct ArenaPacking {
  std::int64_t bytes = 0;
  std::int64_t lower_bound = 0;  // most bytes alive in one stage
  std::string_view heuristic;
};

// Sets the offsets by the heuristic that needs the least memory; several are tried, the first of
// equals wins.
ArenaPacking pack_arena(std::vector<ArenaItem>& items);

// Every item its own bytes.
ArenaPacking lay_out_apart(std::vector<ArenaItem>& items);

}  // namespace weft::scheduler

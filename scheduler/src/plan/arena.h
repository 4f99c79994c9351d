#pragma once
// Packs tensors into the arena: tensors that are live in the same stage share no bytes. Independent
// of graphs.

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
  std::int64_t lower_bound = 0;  // max of live bytes in one stage
  std::string_view heuristic;
};

// Sets the offsets. Tries several heuristics and keeps the first one that needs the minimum of
// memory.
ArenaPacking pack_arena(std::vector<ArenaItem>& items);

// Gives every item its own bytes.
ArenaPacking pack_without_reuse(std::vector<ArenaItem>& items);

}  // namespace weft::scheduler

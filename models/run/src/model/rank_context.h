#pragma once
// What a rank's model knows about the others.

#include <memory>

#include "weft/scheduler/rank_link.h"
#include "weft/scheduler/shard.h"

namespace weft::run {

class RankGroup;

struct RankContext {
  Sharding sharding;
  int rank = 0;
  RankLink* link = nullptr;            // outlives the model's sessions
  std::unique_ptr<RankLink> own_link;  // for a rank without others
  std::shared_ptr<RankGroup> group;    // null unless this is rank 0 of several
  int ranks_here = 1;                  // that use the processors and the memory of this one
};

}  // namespace weft::run

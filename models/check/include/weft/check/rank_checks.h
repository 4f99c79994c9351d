#pragma once
// Checks that ranks work together (weft/run/ranks.h): as threads of this process, or as the
// processes that a launcher of MPI started. Needs no model: it makes a small one.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/check/selftest.h"
#include "weft/scheduler/shard.h"

namespace weft {

struct RankCheckOptions {
  Sharding sharding;     // of several ranks; min_elems has no effect: all that can be is cut
  double timeout = 600;  // seconds that a rank may take until it sends its next message
  std::optional<LinkSpeed> slow_link;  // as in ModelOptions, for the steps of the made model
  // Only workers (0: one), executor, backend, route, types of caches and passes count.
  SessionOptions session;
  std::function<void(const std::string&)> progress;  // as in SelftestOptions
};

// The checks, in order: messages of many sizes from each rank to each other; a made model, divided
// among the ranks, repeats its logits; these are those of one rank, to the bit for pipelines, and
// up to the order of sums for tensor parallel; each node of each rank is near its scalar
// definition. Those after a failed one are omitted, and the other ranks are told why. Throws
// ValueError if a launcher started another number of ranks.
//
// Every process calls it. On ranks other than 0 it takes part in the checks, returns none, and
// throws what went wrong there.
std::vector<SelfCheck> check_ranks(const RankCheckOptions& options);

}  // namespace weft

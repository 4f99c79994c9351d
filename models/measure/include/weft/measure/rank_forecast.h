#pragma once
// What a sharded model needs on each rank, and how fast it would be, from the header of its file.
// Steps of each rank's plan are timed on this machine with samples of the weights; the time of the
// exchanges follows from their number, their bytes and the link. So ranks are machines like this
// one.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/run/model.h"
#include "weft/run/session.h"
#include "weft/scheduler/link.h"

namespace weft::bench {

struct RankForecastOptions {
  LinkSpeed link;
  std::int64_t prompt = 512;  // tokens of prefill
  double seconds = 1;         // about the time for a phase of a rank; 0: nothing is timed
  const std::atomic<bool>* cancel = nullptr;  // may be null
};

struct RankNeed {
  int rank = 0;
  MemoryUse memory;
  Traffic decode;  // in a step of one token
};

struct RankForecast {
  Sharding sharding;
  std::string refused;  // why it cannot be, or does not fit; the rest is then empty
  std::vector<RankNeed> ranks;
  // Tokens per second; 0 if nothing was timed.
  double decode = 0, prefill = 0;
  double exchanges = 0;  // the part of decoding that is exchanges, 0..1

  std::int64_t largest_rank_bytes() const;
};

// `session.mem_budget` is that of each rank. Throws like Model::load() and forecast().
RankForecast forecast_ranks(const std::string& path, const ModelOptions& model,
                            const SessionOptions& session, const RankForecastOptions& how);

// All ways to use that many ranks, most tensor parallel first.
std::vector<Sharding> shardings_of(int ranks);

}  // namespace weft::bench

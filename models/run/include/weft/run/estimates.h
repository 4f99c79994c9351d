#pragma once
// What a planned session would need, estimated without opening it.

#include <atomic>
#include <cstdint>

#include "weft/run/session.h"

namespace weft {

// The experts that steps of some tokens find in the cache, once it has its usual contents.
struct CacheEstimate {
  double hit_rate = 1;        // the part of the needed experts that is in the cache, 0..1
  double bytes_per_step = 0;  // that are read for those that are missing
};

// Tokens choose independently of each other. `skew` says how unequally: 0: all experts equally
// often; 0.5: half of 128 experts have 90 % of the choices of 8, and the first one 4 %, as
// published for Qwen3-30B-A3B. Neighbours in real texts choose alike, and then find more.
// Throws CancelledError if `cancel` became true.
CacheEstimate estimate_cache(const Residency& residency, std::int64_t n_tokens, double skew,
                             const std::atomic<bool>* cancel = nullptr);

struct LoadEstimate {
  std::int64_t bytes = 0;     // read from the file before the first step
  double cached_seconds = 0;  // that loading takes if the file is in the page cache
};

// Reads and packs a few MB of each type of weights to measure how fast that is. Throws IoError if
// the file cannot be read.
LoadEstimate estimate_load(const Model& model, const PlannedModel& planned);

// Bytes of the samples of a session with SessionOptions::sample_weights.
std::int64_t sample_bytes(const Model& model, const PlannedModel& planned);

}  // namespace weft

#pragma once
// The limits of this machine, measured once and stored.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/scheduler/machine_limits.h"

namespace weft::tools {

using bench::MachineLimits;

std::string to_text(const std::vector<MachineLimits>& limits);

// The stored limits for this processor, instruction set and number of threads; measures and stores
// them if there are none, or if `again`. The file is $XDG_CACHE_HOME/weft/limits.json, by default
// below ~/.cache. Errors in reading or writing it are ignored, and cost only the time of measuring
// again. Sets `age_s` to the age of the figures.
MachineLimits kept_limits(int threads, bool again, std::int64_t& age_s);

}  // namespace weft::tools

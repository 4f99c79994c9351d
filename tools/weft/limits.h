#pragma once
// What this machine can do, measured once and kept.

#include <cstdint>
#include <string>
#include <vector>

#include "limits/limits.h"

namespace weft::tools {

// What the machine can do with that many threads.
struct Limits {
  int threads = 0;
  bench::ReadLimit reads;
  bench::ArithmeticLimit int8, f32;
};

// Skips the read limit if `max_bytes` of memory are not enough to measure it.
Limits measure_limits(int threads, std::int64_t max_bytes);

std::string to_text(const std::vector<Limits>& limits);
std::string to_json(const Limits& limits);  // an object

// The limits that were kept for this processor and number of threads, or measured and kept now:
// $XDG_CACHE_HOME/weft/limits.json, by default below ~/.cache. A file that cannot be read counts as
// none; one that cannot be written costs the time of measuring again, nothing else. `again`
// measures in any case. `age_s` is how old the figures are.
Limits kept_limits(int threads, bool again, std::int64_t& age_s);

}  // namespace weft::tools

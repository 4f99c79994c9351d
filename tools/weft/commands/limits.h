#pragma once
// The limits of this machine, measured once and stored.

#include <cstdint>
#include <string>
#include <vector>

#include "limits/limits.h"

namespace weft::tools {

// The limits for a number of threads.
struct Limits {
  int threads = 0;
  bench::ReadLimit reads;
  bench::ArithmeticLimit int8, f32;
};

// Arithmetic with the instruction set of the cpu backend. Skips the read limit if `max_bytes` of
// memory are not enough to measure it. Throws as cpu_backend().
Limits measure_limits(int threads, std::int64_t max_bytes);

std::string to_text(const std::vector<Limits>& limits);
std::string to_json(const Limits& limits);  // an object

// The stored limits for this processor, instruction set and number of threads; measures and stores
// them if there are none, or if `again`. The file is $XDG_CACHE_HOME/weft/limits.json, by default
// below ~/.cache. Errors in reading or writing it are ignored, and cost only the time of measuring
// again. Sets `age_s` to the age of the figures.
Limits kept_limits(int threads, bool again, std::int64_t& age_s);

}  // namespace weft::tools

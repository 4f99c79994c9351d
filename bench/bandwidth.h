#pragma once
// How fast this machine reads memory: what decoding is measured against.

#include <cstdint>

namespace weft::bench {

struct Bandwidth {
  double gb_per_second = 0;      // 10^9 bytes, best of a few passes; 0: not measured
  std::int64_t bytes = 0;        // size of the buffer
  std::int64_t cache_bytes = 0;  // last-level cache as the system tells it; 0: unknown
  int threads = 0;
  // A buffer that the cache can hold measures the cache.
  bool measures_memory() const { return cache_bytes > 0 && bytes >= 2 * cache_bytes; }
};

// Reads a buffer of four times the last-level cache, 64 MiB at least and `most_bytes` at most, with
// plain loads. Measures nothing where `most_bytes` is less than 64 MiB.
Bandwidth measure_read_bandwidth(int threads, std::int64_t most_bytes);

}  // namespace weft::bench

#pragma once
// What this machine can do at best: the measure for what we reach. Every figure is the best of many
// short passes over several ways to do it, because a limit is what nothing got past.

#include <cstdint>
#include <string>

namespace weft::bench {

struct ReadLimit {
  double bytes_per_second = 0;  // all threads together; 0: not measured
  int threads = 0;
  std::int64_t bytes = 0;        // size of the buffer
  std::int64_t cache_bytes = 0;  // last-level cache as the system tells it; 0: unknown
  std::string how;               // the best way: "huge pages, prefetch 2048 bytes ahead"
  // A buffer that the cache can hold measures the cache.
  bool measures_memory() const { return cache_bytes > 0 && bytes >= 2 * cache_bytes; }
};

// Streams through a buffer of eight times the last-level cache, 256 MiB at least and `max_bytes`
// at most, every thread through its own part: on small and on huge pages, with and without software
// prefetch. Measures nothing if `max_bytes` is less than 64 MiB.
ReadLimit measure_reads(int threads, std::int64_t max_bytes);

struct ArithmeticLimit {
  double multiply_adds_per_second = 0;  // all threads together; 0: not measured
  int threads = 0;
  std::string instruction;  // "vpdpbusd zmm"
};

// Products of bytes added up in 32 bits, and of floats in floats, by the widest instruction that
// the processor has for it, on independent registers.
ArithmeticLimit measure_int8(int threads);
ArithmeticLimit measure_f32(int threads);

}  // namespace weft::bench

#pragma once
// The limits of this machine, to compare speeds with. Every figure is the best of many short passes
// with several methods.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::bench {

// The size of the last-level cache in bytes as the system reports it; 0: unknown.
std::int64_t last_level_cache();

struct ReadLimit {
  double bytes_per_second = 0;  // all threads together; 0: not measured
  int threads = 0;
  std::int64_t bytes = 0;        // size of the buffer
  std::int64_t cache_bytes = 0;  // last-level cache as reported by the system; 0: unknown
  std::string how;               // the best method: "huge pages, prefetch 2048 bytes ahead"
  // A buffer that fits into the cache would measure the cache.
  bool measures_memory() const { return cache_bytes > 0 && bytes >= 2 * cache_bytes; }
};

// Streams through a buffer of four times the last-level cache, 256 MiB at least and `max_bytes`
// at most, every thread through its own part: on small and on huge pages, with and without software
// prefetch. Measures nothing if `max_bytes` is less than 64 MiB.
//
// Throws CancelledError if `cancel` became true, which is looked at between the methods.
ReadLimit measure_reads(int threads, std::int64_t max_bytes,
                        const std::atomic<bool>* cancel = nullptr);

struct ArithmeticLimit {
  double multiply_adds_per_second = 0;  // all threads together; 0: not measured
  int threads = 0;
  std::string instruction;  // "vpdpbusd zmm"
};

// Sums of byte products in 32 bits, and of float products in floats, with the best instructions of
// an instruction set of the cpu backend, on independent registers. Measures nothing for names that
// it does not know. REQUIRES: the processor has the set.
ArithmeticLimit measure_int8(int threads, std::string_view set);
ArithmeticLimit measure_f32(int threads, std::string_view set);

// The limits for a number of threads.
struct MachineLimits {
  int threads = 0;
  ReadLimit reads;
  ArithmeticLimit int8, f32;
};

// Arithmetic with the instruction set of the cpu backend. Skips the read limit if `max_bytes` of
// memory are not enough to measure it. Takes seconds. Throws ValueError if `threads` is outside
// 1..kMaxWorkers, and as cpu_backend() and measure_reads().
MachineLimits measure_limits(int threads, std::int64_t max_bytes,
                             const std::atomic<bool>* cancel = nullptr);

// {"threads", "reads": {"bytes_per_second", "how", "buffer_bytes", "cache_bytes",
// "measures_memory"}, "int8" and "f32": {"multiply_adds_per_second", "instruction"}}
std::string to_json(const MachineLimits& limits);

}  // namespace weft::bench

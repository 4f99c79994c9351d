#pragma once
// Measures the tunables of the cpu backend on this machine.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/tunables.h"

namespace weft::bench {

struct MeasuredTunable {
  Tunable tunable;
  struct Speed {
    std::int64_t value = 0;
    double bytes_per_second = 0;  // speed of reading weights, all threads together; the best pass
  };
  std::vector<Speed> speeds;  // the standard value first
  TunedValue best;            // the standard value unless another one is clearly faster
};

struct TuneOptions {
  std::string_view isa;
  int threads = 1;             // threads that read their own weights at the same time
  double seconds = 1.5;        // no tunable is begun later
  std::int64_t max_bytes = 0;  // memory for weights
};

// Measures the tunables of an instruction set in their order while there is time, with weights that
// lie in memory and not in a cache if `max_bytes` allows. Throws as cpu_backend(isa).
std::vector<MeasuredTunable> measure_choices(const TuneOptions& options);

// The best values.
TunedValues best_values(const std::vector<MeasuredTunable>& measured);

// Stores values where the backend looks for them. Returns the file's path; empty if there is no
// place for it. Throws IoError.
std::string store_values(const TunedValues& values, std::string_view isa);

}  // namespace weft::bench

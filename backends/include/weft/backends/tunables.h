#pragma once
// Tunables of the cpu backend: parameters that change its speed but no bit. The best value depends
// on the processor and its memory, so it is measured on the machine (`weft tune`).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/base/tuned_values.h"
#include "weft/graph/dtype.h"

namespace weft {

struct Tunable {
  std::string name;   // name of its TunedValue: "prefetch.q4_k.1"
  std::string about;  // "Q4_K in panels, 1 token: bytes prefetched ahead"
  // It affects projections of n_tokens tokens whose weights are in panels of this type.
  DType weights;
  std::int64_t n_tokens = 1;
  std::int64_t standard = 0;  // the value if none was measured
  std::vector<std::int64_t> others;
};

// The tunables that an instruction set has, the formats used most first. Throws as
// cpu_backend(isa).
std::vector<Tunable> cpu_tunables(std::string_view isa);

// The cpu backend with these values of its tunables; others, and values that a tunable does not
// have, count as absent. Throws as cpu_backend(isa).
std::unique_ptr<const Backend> make_cpu_backend(std::string_view isa, const TunedValues& values);

// The best instruction set that cpu_backend() uses; empty if it knows none that this machine has.
// Does not initialize the backend. Throws as cpu_backend().
std::string_view cpu_backend_isa();
// The values of cpu_backend(): those that were stored for the instruction set when it was
// initialized. Throws as cpu_backend().
const TunedValues& cpu_backend_values();

}  // namespace weft

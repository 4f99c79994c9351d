#include "weft/scheduler/machine_limits.h"

#include <nlohmann/json.hpp>

#include "weft/backends/tunables.h"
#include "weft/base/error.h"
#include "weft/scheduler/workers.h"

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

Json arithmetic_json(const ArithmeticLimit& limit) {
  return {{"multiply_adds_per_second", limit.multiply_adds_per_second},
          {"instruction", limit.instruction}};
}

}  // namespace

MachineLimits measure_limits(int threads, std::int64_t max_bytes, const std::atomic<bool>* cancel) {
  if (threads < 1 || threads > kMaxWorkers)
    fail<ValueError>("the number of threads must be 1 to {}, got {}", kMaxWorkers, threads);
  return {.threads = threads,
          .reads = measure_reads(threads, max_bytes, cancel),
          .int8 = measure_int8(threads, cpu_backend_isa()),
          .f32 = measure_f32(threads, cpu_backend_isa())};
}

std::string to_json(const MachineLimits& limits) {
  const ReadLimit& reads = limits.reads;
  return Json{{"threads", limits.threads},
              {"reads",
               {{"bytes_per_second", reads.bytes_per_second},
                {"how", reads.how},
                {"buffer_bytes", reads.bytes},
                {"cache_bytes", reads.cache_bytes},
                {"measures_memory", reads.measures_memory()}}},
              {"int8", arithmetic_json(limits.int8)},
              {"f32", arithmetic_json(limits.f32)}}
      .dump();
}

}  // namespace weft::bench

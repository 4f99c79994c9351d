#include "weft/scheduler/machine_limits.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/scheduler/workers.h"

#include "support/error_text.h"

namespace weft::bench {
namespace {

using test::text_of;

TEST_CASE("limits of arithmetic are measured, and those of memory with enough of it") {
  const MachineLimits limits = measure_limits(1, 0);
  CHECK(limits.threads == 1);
  CHECK(limits.reads.bytes_per_second == 0);
  for (const std::string_view isa : cpu_isas()) {
    CAPTURE(isa);
    for (const ArithmeticLimit& limit : {measure_int8(1, isa), measure_f32(1, isa)}) {
      CHECK(limit.multiply_adds_per_second > 0);
      CHECK_FALSE(limit.instruction.empty());
    }
  }
  CHECK(measure_int8(1, "no such set").multiply_adds_per_second == 0);
}

TEST_CASE("limits are written as JSON") {
  const MachineLimits limits{
      .threads = 2,
      .reads = {.bytes_per_second = 3, .bytes = 400, .cache_bytes = 200, .how = "small pages"},
      .int8 = {.multiply_adds_per_second = 5, .instruction = "sdot"},
      .f32 = {}};
  const auto json = nlohmann::json::parse(to_json(limits));
  CHECK(json["threads"] == 2);
  CHECK(json["reads"]["how"] == "small pages");
  CHECK(json["reads"]["measures_memory"] == true);
  CHECK(json["int8"]["instruction"] == "sdot");
  CHECK(json["f32"]["multiply_adds_per_second"] == 0.0);
}

TEST_CASE("numbers of threads that no plan has are refused") {
  CHECK(text_of([] { measure_limits(0, 0); }) == "the number of threads must be 1 to 256, got 0");
  CHECK_THROWS_AS(measure_limits(kMaxWorkers + 1, 0), ValueError);
}

}  // namespace
}  // namespace weft::bench

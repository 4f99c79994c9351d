#include "weft/run/plan_json.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/run/model.h"
#include "weft/scheduler/workers.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

using Json = nlohmann::json;

MemoryOffer offer_of(const Model& model, const SessionOptions& options) {
  return {.planned = plan_model(model, options), .slots = options.sequences, .concessions = {}};
}

TEST_CASE("plans are written with options, memory and estimates") {
  const auto model = test::tiny_model();
  const MemoryOffer offer =
      offer_of(*model, {.context = 100, .sequences = 2, .workers = 1, .backend = "reference"});
  const Json json = Json::parse(to_json(*model, offer));
  CHECK(json["architecture"] == model->facts().architecture);
  CHECK(json["context"] == 100);
  CHECK(json["sequences"] == 2);
  CHECK(json["workers"] == 1);
  CHECK(json["workers_reason"] == choose_workers(1).reason);
  CHECK(json["backend"] == "reference");
  CHECK(json["memory"]["total"] == offer.planned.memory.total());
  std::int64_t bytes = 0;
  for (const Json& line : json["memory_lines"]) bytes += line["bytes"].get<std::int64_t>();
  CHECK(bytes == offer.planned.memory.total());
  REQUIRE(json["plans"].size() == offer.planned.plans.size());
  for (const Json& plan : json["plans"]) {
    CHECK(plan["executor"]["kind"] == "alone");
    CHECK(plan["critical_path_ns"] > 0);
    CHECK(plan["critical_path_ns"] <= plan["work_per_lane_ns"]);
  }
}

TEST_CASE("only tunables of the types of weights count") {
  const auto model = test::tiny_model();  // plain weights: nothing to tune
  CHECK(tunables_of(plan_model(*model, {.context = 64, .weights = WeightMode::mapped})).empty());
}

}  // namespace
}  // namespace weft

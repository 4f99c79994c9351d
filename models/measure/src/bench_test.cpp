#include "weft/measure/bench.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/run/model.h"

#include "support/tiny_model.h"

namespace weft::bench {
namespace {

using Json = nlohmann::json;

std::vector<Row> rows_of(Session& session, std::uint64_t& hash,
                         const std::atomic<bool>* cancel = nullptr) {
  const std::vector<Test> tests{{.phase = Phase::prefill, .tokens = 20, .depth = 5},
                                {.phase = Phase::decode, .tokens = 3},
                                {.phase = Phase::step, .tokens = 4}};
  Fnv1a64 logits;
  auto rows = measure(session, tests, 2, logits, cancel);
  hash = logits.value();
  return rows;
}

SessionOptions small_session() {
  return {.context = 64, .prefill_width = 16, .workers = 1, .backend = "reference"};
}

TEST_CASE("every test has a rate for each repetition, and the same logits") {
  const auto model = test::tiny_model();
  Session session(model, small_session());
  std::uint64_t hash = 0, again = 1;
  const std::vector<Row> rows = rows_of(session, hash);
  REQUIRE(rows.size() == 3);
  for (const Row& row : rows) {
    CHECK(row.series.rates.size() == 2);
    CHECK(row.series.min() > 0);
    CHECK(row.series.min() <= row.tokens_per_second());
    CHECK(row.tokens_per_second() <= row.series.max());
    CHECK(row.work.weight_bytes > 0);
    CHECK(row.work.multiply_adds > 0);
  }
  // Weights are read once per step: twice for 20 tokens in steps of 16, three times for decode.
  CHECK(rows[0].work.nodes / 2 == rows[1].work.nodes / 3);
  rows_of(session, again);
  CHECK(hash == again);
}

TEST_CASE("models with windows are measured after a depth that they cannot return to") {
  ModelOptions options;
  options.overrides = {{"gemma3.attention.sliding_window", std::int64_t{32}}};
  const auto model = test::tiny_model({.arch = "gemma3"}, options);
  Session session(model, {.context = 400, .prefill_width = 200, .workers = 1});
  session.fill_with_noise(0, 200);
  session.feed(0, std::vector<std::int32_t>(200, 1));
  REQUIRE(session.resume_point(0, 200) != 200);
  Fnv1a64 hash;
  const Test test{.phase = Phase::prefill, .tokens = 200, .depth = 200};
  CHECK(measure(session, {test}, 2, hash).at(0).series.rates.size() == 2);
}

TEST_CASE("the median and the median distance from it") {
  const Series series{.rates = {5, 1, 4, 2}};
  CHECK(series.median() == 3);
  CHECK(series.spread() == 1.5);
  CHECK(series.min() == 1);
  CHECK(series.max() == 5);
}

TEST_CASE("measuring can be cancelled") {
  const auto model = test::tiny_model();
  Session session(model, small_session());
  std::uint64_t hash = 0;
  const std::atomic<bool> cancel = true;
  CHECK_THROWS_AS(rows_of(session, hash, &cancel), CancelledError);
}

TEST_CASE("reports are written with shares of the machine's limits") {
  Row row{.test = {.phase = Phase::decode, .tokens = 2}, .workers = 1, .series = {.rates = {10}}};
  row.work = {.weight_bytes = 200, .multiply_adds = 40, .of_quantized = 40, .nodes = 8};
  Report report{.model = "m\xff", .backend = "cpu", .rows = {row}};
  Json json = Json::parse(to_json(report));
  CHECK(json["rows"][0]["share_of_reads"].is_null());
  CHECK(json["limits"].empty());
  report.limits.push_back({.threads = 1,
                           .reads = {.bytes_per_second = 4000},
                           .int8 = {.multiply_adds_per_second = 800}});
  json = Json::parse(to_json(report));
  CHECK(json["rows"][0]["phase"] == "decode");
  CHECK(json["rows"][0]["bytes_per_token"] == 100.0);
  CHECK(json["rows"][0]["bytes_per_second"] == 1000.0);
  CHECK(json["rows"][0]["share_of_reads"] == 0.25);
  CHECK(json["rows"][0]["share_of_arithmetic"] == 0.25);
  CHECK(json["rows"][0]["arithmetic"] == "int8");
  CHECK(json["limits"].size() == 1);
}

}  // namespace
}  // namespace weft::bench

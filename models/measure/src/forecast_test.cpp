#include "weft/measure/forecast.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/run/model.h"

#include "step_time.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft::bench {
namespace {

SessionOptions to_forecast() {
  return {.context = 64, .prefill_width = 16, .workers = 1};
}

TEST_CASE("a forecast has rates at each depth, and says why there are none") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model({.sizes = {.L = 3}}, path);
  const Forecast f = forecast(Model::load(path), to_forecast(),
                              {.depths = {0, 20, 1 << 20}, .prompt = 32, .seconds = 0.05});
  REQUIRE(f.depths.size() == 3);
  for (const DepthForecast& d : {f.depths[0], f.depths[1]}) {
    CHECK(d.refused.empty());
    CHECK(d.context == 64);
    for (const PhaseForecast& phase : {d.prefill, d.decode}) {
      CHECK(phase.in_memory > 0);
      CHECK(phase.uniform.tokens_per_second == doctest::Approx(phase.in_memory));
      CHECK(phase.uniform.bytes_per_token == 0);
    }
  }
  CHECK(f.depths[2].refused == "longer than the context of the model");
  CHECK(f.start_bytes > 0);
  const auto json = nlohmann::json::parse(to_json(f));
  CHECK(json["depths"][1]["decode"]["in_memory"] == f.depths[1].decode.in_memory);
  CHECK(json["depths"][2]["refused"] == f.depths[2].refused);
}

TEST_CASE("streamed weights cost reads: all of a dense model, missing experts of a mixture") {
  SessionOptions options = to_forecast();
  options.weights = WeightMode::streamed;
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  for (const bool mixture : {false, true}) {
    test::TinyModel about{.sizes = {.L = 6}};
    if (mixture) about = {.arch = "qwen3moe", .sizes = {.L = 6, .X = 16}};
    test::write_tiny_model(about, path);
    const auto model = Model::load(path);
    options.mem_budget = 0;
    const PlannedModel all = plan_model(*model, options);
    options.mem_budget = all.memory.total() - all.residency.bytes() / 3;
    const PlannedModel planned = plan_model(*model, options);
    const Forecast f = forecast(model, options, {.depths = {0}, .prompt = 32, .seconds = 0.05});
    const PhaseForecast& decode = f.depths.at(0).decode;
    CHECK(decode.uniform.bytes_per_token > 0);
    REQUIRE(f.read_speed > 0);
    if (mixture) {
      CHECK(decode.uniform.tokens_per_second < decode.in_memory);
      CHECK(decode.uniform.hits < 1);
      CHECK(decode.skewed.hits > decode.uniform.hits);
    } else {
      CHECK(decode.uniform.bytes_per_token ==
            static_cast<double>(planned.residency.streamed_bytes()));
      // What is read in order is read beside what is computed.
      const double read_speed = f.read_speed / decode.uniform.bytes_per_token;
      CHECK(decode.uniform.tokens_per_second ==
            doctest::Approx(std::min(decode.in_memory, read_speed)));
      // The two steps of a prompt of 32 tokens read everything twice.
      CHECK(f.depths[0].prefill.uniform.bytes_per_token == decode.uniform.bytes_per_token / 16);
    }
  }
}

TEST_CASE("the time of a step follows from its first stages, if it takes too long") {
  const auto model = test::tiny_model({.sizes = {.L = 8}});
  SessionOptions options{.context = 64, .prefill_width = 64, .workers = 1};
  options.sample_weights = true;
  options.backend = "reference";
  Session session(model, options);
  // Another process may take the processor during some of the measurements, but not during all.
  const auto agree = [&] {
    const double whole = step_seconds(session, 0, 64, 1e9, nullptr);
    const double part = step_seconds(session, 0, 64, whole / 4, nullptr);
    return part > whole / 2 && part < whole * 2;
  };
  bool agreed = false;
  for (int i = 0; i < 50 && !agreed; ++i) agreed = agree();
  CHECK(agreed);
}

TEST_CASE("forecasts are refused by name, and can be cancelled") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model({}, path);
  const auto model = Model::load(path);
  const std::atomic<bool> cancel = true;
  CHECK_THROWS_AS(forecast(model, to_forecast(), {.seconds = 0.05, .cancel = &cancel}),
                  CancelledError);
  SessionOptions options = to_forecast();
  options.mem_budget = 1000;
  CHECK_THROWS_AS(forecast(model, options, {.seconds = 0.05}), BudgetError);
}

}  // namespace
}  // namespace weft::bench

#include "weft/measure/rank_forecast.h"

#include <doctest/doctest.h>

#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft::bench {
namespace {

SessionOptions ranked_session() {
  return {.context = 64, .prefill_width = 32, .workers = 1};
}

TEST_CASE("ranks need parts of the memory, and exchanges take the time of the link") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model({.sizes = {.L = 4}}, path);
  const auto forecast_with = [&](const Sharding& sharding, const LinkSpeed& link) {
    return forecast_ranks(path, {.sharding = sharding}, ranked_session(),
                          {.link = link, .prompt = 64, .seconds = 0.05});
  };
  const LinkSpeed fast{.latency = 1e-9, .bytes_per_second = 1e15};
  const RankForecast alone = forecast_with({}, fast);
  CHECK(alone.ranks.size() == 1);
  CHECK(alone.ranks[0].decode.exchanges == 0);
  CHECK(alone.decode > 0);
  const Sharding halves{.tp = 2, .min_elems = 0};
  const RankForecast two = forecast_with(halves, fast);
  CHECK(two.ranks.size() == 2);
  CHECK(two.ranks[0].decode.exchanges == 2 * 4 + 1);
  CHECK(two.largest_rank_bytes() < alone.largest_rank_bytes());
  // Each exchange takes at least the latency.
  const RankForecast slow = forecast_with(halves, {.latency = 0.01, .bytes_per_second = 1e9});
  CHECK(slow.decode < 1 / (9 * 0.01));
  CHECK(slow.decode > 0.5 / (9 * 0.01));
  CHECK(slow.exchanges > 0.5);
  const RankForecast stages = forecast_with({.tp = 2, .pp = 2, .min_elems = 0}, fast);
  CHECK(stages.ranks.size() == 4);
  CHECK(stages.prefill > 0);
}

TEST_CASE("what cannot be, and what does not fit, is refused by name") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model({}, path);
  const RankForecastOptions untimed{.seconds = 0};
  CHECK(forecast_ranks(path, {.sharding = {.tp = 3}}, ranked_session(), untimed)
            .refused.starts_with("tp=3 does not divide"));
  SessionOptions tight = ranked_session();
  tight.mem_budget = 1000;
  const RankForecast none = forecast_ranks(path, {.sharding = {.pp = 2}}, tight, untimed);
  CHECK_FALSE(none.refused.empty());
  const RankForecast fits =
      forecast_ranks(path, {.sharding = {.pp = 2}}, ranked_session(), untimed);
  CHECK(fits.refused.empty());
  CHECK(fits.decode == 0);
  CHECK(fits.ranks.size() == 2);
}

TEST_CASE("all ways to use some ranks") {
  CHECK(shardings_of(4) == std::vector<Sharding>{{.tp = 4}, {.tp = 2, .pp = 2}, {.pp = 4}});
  CHECK(shardings_of(1) == std::vector<Sharding>{{}});
}

}  // namespace
}  // namespace weft::bench

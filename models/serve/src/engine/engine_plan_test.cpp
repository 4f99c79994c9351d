// The plans of an engine: how many of them are made, and that they are those that it runs.
#include <doctest/doctest.h>

#include "weft/run/memory_plan.h"
#include "weft/serve/engine.h"

#include "embeddings/engine_embedders.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

EngineOptions small(std::int64_t budget) {
  EngineOptions options{.slots = 2, .session = {.context = 256}};
  options.session.mem_budget = budget;
  return options;
}

TEST_CASE("an engine uses what plan_engine() offers") {
  const auto model = test::tiny_model();
  for (const bool drafts : {false, true}) {
    for (const std::int64_t mib : {4, 8, 64}) {
      CAPTURE(drafts);
      CAPTURE(mib);
      EngineOptions options = small(mib << 20);
      if (drafts) options.speculation = {.kinds = {DraftKind::model}, .draft_model = model};
      if (!plan_if_fits(*model, engine_demand(*model, options))) continue;
      const MemoryOffer offer = plan_engine(*model, options);
      const Engine engine(model, options);
      CHECK(engine.memory() == offer.memory());
      CHECK(engine.concessions() == offer.concessions);
      CHECK(engine.memory().total() <= mib << 20);
    }
  }
}

TEST_CASE("an engine of a model that only gives embeddings uses what plan_engine() offers") {
  const auto model = test::tiny_model({.arch = "bert"});
  for (const std::int64_t mib : {0, 8, 64}) {
    CAPTURE(mib);
    const EngineOptions options = small(mib << 20);
    const std::int64_t before = model_plannings();
    const MemoryOffer offer = plan_engine(*model, options);
    CHECK(model_plannings() - before <= 2);  // a session without texts, and the embedder's
    const Engine engine(model, options);
    CHECK(engine.memory() == offer.memory());
    CHECK(engine.concessions() == offer.concessions);
  }
}

TEST_CASE("embedders beside an engine do not count again what was reserved") {
  const auto model = test::tiny_model();
  SessionOptions asked{.context = 64, .weights = WeightMode::mapped};
  const auto beside = [&](const PlannedModel& texts) {
    return embedder_session(
        *model, serve::embedder_beside(*model, texts.options, asked, {}, {{texts.memory}}));
  };
  const PlannedModel alone = plan_model(*model, asked);
  const std::int64_t both = alone.memory.total() + plan_model(*model, beside(alone)).memory.total();
  asked.reserved = 2 * both;
  asked.mem_budget = 3 * both;
  CHECK(plan_if_fits(*model, beside(plan_model(*model, asked))));
}

TEST_CASE("loading plans the whole model a few times") {
  const auto model = test::tiny_model();
  const auto n_plannings = [&](const EngineOptions& options) {
    const std::int64_t before = model_plannings();
    static_cast<void>(plan_engine(*model, options));
    return model_plannings() - before;
  };
  EngineOptions options = small(std::int64_t{64} << 20);
  options.kept_prompts_bytes = 0;
  CHECK(n_plannings(options) == 1);
  options.kept_prompts_bytes = -1;  // sequences beside the slots
  CHECK(n_plannings(options) == 2);
  options.speculation = {.kinds = {DraftKind::model}, .draft_model = model};
  CHECK(n_plannings(options) == 3);  // one more for the draft model
  options = small(0);                // by default
  CHECK(n_plannings(options) <= 3);
}

TEST_CASE("streamed weights make room for drafts once") {
  const auto model = test::tiny_model();
  MemoryDemand demand{.session = {.context = 64, .weights = WeightMode::streamed}};
  demand.session.mem_budget = std::int64_t{8} << 20;
  demand.requests = 1000;
  demand.drafts = {.max_guesses = 4, .model = model};
  demand.drafts.session.weights = WeightMode::mapped;
  const std::int64_t before = model_plannings();
  const MemoryOffer offer = plan_memory(*model, demand);
  CHECK(model_plannings() - before <= 3);  // alone, the draft model, and with room for it
  REQUIRE(offer.drafts.session);
  CHECK(offer.drafts.reserved > 0);
  CHECK(offer.planned.options.reserved == demand.requests + offer.drafts.reserved);
  CHECK(offer.memory().total() <= demand.session.mem_budget);
}

}  // namespace
}  // namespace weft

#include "weft/run/estimates.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "support/session_steps.h"
#include "support/tiny_model.h"

using namespace weft;

namespace {

// 4 layers of 128 experts of 1000 bytes, of which tokens choose 8; so many fit in memory.
Residency with_slots(std::int64_t n_slots) {
  Residency r;
  for (int layer = 0; layer < 4; ++layer)
    r.groups.push_back({.n_experts = 128, .n_chosen = 8, .max_tokens = 512, .expert_bytes = 1000});
  r.slots.push_back({.slot_bytes = 4096, .n_experts = 512, .min_slots = 128, .n_slots = n_slots});
  return r;
}

}  // namespace

TEST_CASE("experts: what is in memory is found, and unequal choices find more") {
  CHECK(estimate_cache({}, 1, 0).hit_rate == 1);
  CHECK(estimate_cache(with_slots(512), 1, 0).hit_rate == 1);
  CHECK(estimate_cache(with_slots(512), 1, 0).bytes_per_step == 0);
  const CacheEstimate uniform = estimate_cache(with_slots(256), 1, 0);
  // Whatever the cache keeps, half of the experts get half of independent, equal choices.
  CHECK(uniform.hit_rate == doctest::Approx(0.5).epsilon(0.15));
  CHECK(uniform.bytes_per_step == doctest::Approx((1 - uniform.hit_rate) * 4 * 8 * 1000));
  // As published: half of the experts have 90 % of the choices.
  const CacheEstimate skewed = estimate_cache(with_slots(256), 1, 0.5);
  CHECK(skewed.hit_rate > 0.8);
  CHECK(skewed.hit_rate < 0.95);
}

TEST_CASE("experts: wide steps need nearly all of them") {
  const CacheEstimate wide = estimate_cache(with_slots(256), 512, 0);
  CHECK(wide.bytes_per_step > 0.4 * 512 * 1000);
  CHECK(wide.bytes_per_step < 0.8 * 512 * 1000);
}

TEST_CASE("loading reads the weights that are in memory all the time, and the mapped ones") {
  const auto model = test::tiny_model({.sizes = {.L = 3}});
  SessionOptions options{.context = 64, .prefill_width = 32, .workers = 1};
  for (const WeightMode mode : {WeightMode::mapped, WeightMode::resident}) {
    options.weights = mode;
    const PlannedModel planned = plan_model(*model, options);
    const LoadEstimate load = estimate_load(*model, planned);
    CHECK(load.bytes > 0);
    CHECK(load.bytes <= planned.memory.weights_mapped + planned.memory.weights_resident);
    CHECK((load.cached_seconds > 0) == (mode == WeightMode::resident));
  }
}

TEST_CASE("a session with samples of weights runs every plan, in less memory") {
  for (const WeightMode mode : {WeightMode::mapped, WeightMode::resident, WeightMode::streamed}) {
    const auto model = test::tiny_model({.arch = "qwen3moe", .sizes = {.L = 6, .X = 16}});
    SessionOptions options{.context = 64, .prefill_width = 32, .workers = 2, .weights = mode};
    options.sample_weights = true;
    Session session(model, options);
    const auto tokens = test::some_tokens(40);
    session.feed(0, tokens);
    CHECK(session.length(0) == 40);
    CHECK(session.allocated_bytes() <= session.memory().total());
  }
}

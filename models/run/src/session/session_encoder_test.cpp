// Sessions of models with an encoder and a decoder.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/saved_sequence.h"
#include "weft/run/session.h"

#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

namespace {

const SessionOptions kSmall{.context = 100, .sequences = 2, .prefill_width = 80, .logits_rows = 32};

std::shared_ptr<const Model> t5(DType matrices = f32) {
  return tiny_model({.arch = "t5", .matrices = matrices});
}

// The logits of these tokens after this text, in a session of their own.
std::vector<float> alone(const std::shared_ptr<const Model>& model,
                         const std::vector<std::int32_t>& text,
                         const std::vector<std::int32_t>& ids) {
  Session session(model, kSmall);
  session.encode(0, text);
  return all_logits(session, ids, ids.size());
}

}  // namespace

TEST_CASE("encoder: tokens depend on all of the text, not on chunks") {
  for (const DType matrices : {f32, q8_0}) {
    const auto model = t5(matrices);
    CHECK(model->facts().encodes);
    CHECK(model->facts().start == 0);
    const auto ids = some_tokens(20, 1);
    auto text = some_tokens(70, 2);  // more than a block of cells
    const auto want = alone(model, text, ids);
    Session session(model, kSmall);
    session.encode(0, text);
    CHECK(session.text(0).size() == 70);
    CHECK(session.text(1).size() == 0);
    CHECK(same_bits(all_logits(session, ids, 1), want));
    session.truncate(0, 0);
    CHECK(session.text(0).size() == 70);
    CHECK(same_bits(all_logits(session, ids, 7), want));
    for (const std::size_t changed : {0, 69}) {
      auto other = text;
      other[changed] = (other[changed] + 1) % 50;
      CHECK_FALSE(same_bits(alone(model, other, ids), want));
    }
    text.pop_back();
    CHECK_FALSE(same_bits(alone(model, text, ids), want));
  }
}

TEST_CASE("encoder: sequences with texts of their own share steps, and copies share texts") {
  const auto model = t5();
  const auto a = some_tokens(9, 1), b = some_tokens(70, 2), ids = some_tokens(12, 3);
  const auto want_a = alone(model, a, ids), want_b = alone(model, b, ids);
  Session session(model, kSmall);
  session.encode(0, a);
  session.encode(1, b);
  std::vector<float> got[2];
  for (const std::int32_t id : ids) {
    const StepToken step[] = {{id, 1, true}, {id, 0, true}};
    const auto rows = session.step(step);
    got[1].insert(got[1].end(), rows.begin(), rows.begin() + 50);
    got[0].insert(got[0].end(), rows.begin() + 50, rows.end());
  }
  CHECK(same_bits(got[0], want_a));
  CHECK(same_bits(got[1], want_b));

  session.copy(1, 0, 0);
  CHECK(session.text(0).size() == 70);
  CHECK(same_bits(all_logits(session, ids, 5, 0), want_b));
  session.encode(0, a);  // does not change the text that was shared
  CHECK(session.length(0) == 0);
  session.truncate(1, 0);
  CHECK(same_bits(all_logits(session, ids, 5, 1), want_b));
  CHECK(same_bits(all_logits(session, ids, 5, 0), want_a));
}

TEST_CASE("encoder: every kind of weights and passes gives nearly the same") {
  const auto model = t5();
  const auto text = some_tokens(10, 1), ids = some_tokens(5, 2);
  const auto want = alone(model, text, ids);
  for (const WeightMode weights : {WeightMode::mapped, WeightMode::resident}) {
    for (const char* off : {"", "all"}) {
      SessionOptions o = kSmall;
      o.weights = weights;
      if (*off) o.passes_off = {off};
      Session session(model, o);
      session.encode(0, text);
      const auto got = all_logits(session, ids, 5);
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-3));
    }
  }
}

TEST_CASE("encoder: what is planned is allocated, and a budget is kept") {
  const auto model = t5();
  const PlannedModel planned = plan_model(*model, kSmall);
  CHECK(planned.plans[planned.n_step_plans - 1].name == "prefill 80");
  CHECK(planned.plans[planned.n_step_plans].name == "encode 8");
  CHECK(planned.plans.back().name == "encode 80");
  Session session(model, kSmall);
  const MemoryUse& use = session.memory();
  CHECK(session.allocated_bytes() == use.total() - use.weights_mapped);
  SessionOptions tight = kSmall;
  tight.weights = WeightMode::mapped;
  tight.mem_budget = plan_model(*model, tight).memory.total() - 1;
  const PlannedModel less = plan_model(*model, tight);
  CHECK(less.memory.total() <= tight.mem_budget);
  CHECK(less.plans.back().name == "encode 32");
  CHECK(less.plans[less.n_step_plans - 1].name == "prefill 32");
}

TEST_CASE("encoder: noise is a text, too") {
  Session session(t5(), kSmall);
  session.fill_with_noise(0, 70);
  CHECK(session.text(0).size() == 70);
  session.feed(0, some_tokens(3));
  CHECK(session.length(0) == 73);
}

TEST_CASE("encoder: noise of a whole context is a text as long as the encoder can read") {
  Session session(test::tiny_model({.arch = "t5"}),
                  {.context = 100, .sequences = 2, .prefill_width = 8});
  session.encode(1, std::vector<std::int32_t>{1, 2, 3});
  session.fill_with_noise(0, 100);
  CHECK(session.length(0) == 100);
  CHECK(session.text(0).size() == 8);
  CHECK(std::ranges::equal(session.text(1), std::vector<std::int32_t>{1, 2, 3}));
}

TEST_CASE("encoder: invalid texts, and tokens without a text") {
  const auto model = t5();
  Session session(model, kSmall);
  const std::string file = model->file().path();
  const std::vector<std::int32_t> ids{1, 2};
  CHECK(text_of([&] { session.feed(0, ids); }) ==
        file + ": the encoder of the model must read a text first; sequence 0 has none");
  const StepToken step[] = {{.token = 1, .sequence = 1}};
  CHECK(text_of([&] { session.step(step); }).find("sequence 1 has none") != std::string::npos);
  CHECK(text_of([&] { session.encode(0, {}); }) ==
        "the encoder reads a text of 1..80 tokens in one step, got 0");
  CHECK(text_of([&] { session.encode(0, some_tokens(81)); }) ==
        "the encoder reads a text of 1..80 tokens in one step, got 81");
  CHECK(text_of([&] { session.encode(2, ids); }) == "no sequence 2: the session has 2");
  CHECK(text_of([&] {
          session.encode(0, std::vector{1, 50});
        }) == "token 50 is outside the vocabulary of 50");
  session.encode(0, ids);
  const std::atomic<bool> cancel{true};
  CHECK_THROWS_AS(session.encode(0, ids, &cancel), CancelledError);
  CHECK(session.text(0).size() == 0);
  session.encode(0, ids);
  session.feed(0, ids);
  const test::TempFolder folder;
  CHECK(text_of([&] { save_sequence(session, 0, "", (folder / "saved").string()); }) ==
        file + ": saving a sequence of a model with an encoder is not supported");
  const auto other = tiny_model();
  Session plain(other, kSmall);
  CHECK(text_of([&] { plain.encode(0, ids); }) ==
        other->file().path() + ": the model has no encoder");
}

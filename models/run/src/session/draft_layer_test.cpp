// Drafts of the model's own layer, and that they change nothing else.
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/memory_plan.h"
#include "weft/run/session.h"

#include "support/tiny_model.h"

using namespace weft;

namespace {

using Ids = std::vector<std::int32_t>;
using Row = std::vector<float>;

std::shared_ptr<const Model> with_draft_layer(const std::string& arch = "glm4moe") {
  return test::tiny_model({.arch = arch, .sizes = {.draft_layers = 1}});
}

SessionOptions options(std::int32_t sequences = 1) {
  return {.context = 200, .sequences = sequences, .draft_layer = true};
}

Row copied(std::span<const float> row) {
  return {row.begin(), row.end()};
}

Ids random_ids(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Ids ids(n);
  for (auto& id : ids) id = static_cast<std::int32_t>(random() % 50);
  return ids;
}

// The logits of a draft after the tokens, and of one that goes on.
std::pair<Row, Row> drafts(Session& session, std::int32_t sequence) {
  Row first = copied(session.draft(sequence, 7, false));
  return {std::move(first), copied(session.draft(sequence, 9, true))};
}

}  // namespace

TEST_CASE("a draft does not depend on how its sequence was computed") {
  const auto model = with_draft_layer();
  REQUIRE(model->facts().drafts);
  const Ids ids = random_ids(90, 1);
  Session whole(model, options());
  whole.feed(0, ids);
  const auto want = drafts(whole, 0);
  REQUIRE(!want.first.empty());
  CHECK(want.first != want.second);

  SUBCASE("token by token") {
    Session session(model, options());
    for (const std::int32_t id : ids) session.feed(0, {&id, 1});
    CHECK(drafts(session, 0) == want);
  }
  SUBCASE("with drafts between, right and wrong ones") {
    Session session(model, options());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      session.feed(0, {&ids[i], 1});
      if (i + 1 == ids.size()) break;
      const std::int32_t guess = i % 3 == 0 ? ids[i + 1] : 2;
      session.draft(0, guess, false);
      if (i % 2 == 0) session.draft(0, 3, true), session.draft(0, 4, true);
    }
    CHECK(drafts(session, 0) == want);
    CHECK(drafts(session, 0) == want);  // again
  }
  SUBCASE("with guesses that are checked and removed") {
    Session session(model, options());
    session.feed(0, std::span(ids).first(10));
    for (std::size_t n = 10; n < ids.size();) {
      session.draft(0, ids[n], false);
      const std::size_t n_right = std::min<std::size_t>(n % 4, ids.size() - n - 1);
      std::vector<StepToken> step;
      for (std::size_t i = 0; i <= n_right; ++i)
        step.push_back({.token = ids[n + i], .logits = true});
      for (int i = 0; i < 3; ++i) step.push_back({.token = 1, .logits = true});
      session.step(step);
      n += n_right + 1;
      session.truncate(0, static_cast<std::int64_t>(n));
    }
    CHECK(drafts(session, 0) == want);
  }
  SUBCASE("beside another sequence") {
    Session session(model, options(2));
    for (std::size_t i = 0; i < ids.size(); i += 2) {
      const std::vector<StepToken> step{{.token = ids[i], .sequence = 1},
                                        {.token = 5, .sequence = 0},
                                        {.token = ids[i + 1], .sequence = 1}};
      session.step(step);
      if (i % 6 == 0) session.draft(0, 1, false);
    }
    CHECK(drafts(session, 1) == want);
  }
}

TEST_CASE("steps are the same with a draft layer") {
  for (const char* arch : {"glm4moe", "deepseek2", "step35", "llama"}) {
    CAPTURE(arch);
    const auto model = with_draft_layer(arch);
    Session plain(model, {.context = 200, .sequences = 2});
    Session session(model, options(2));
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const auto s = static_cast<std::int32_t>(random() % 2);
      const std::int64_t length = plain.length(s);
      switch (random() % 6) {
        case 0:
          for (Session* one : {&plain, &session}) one->truncate(s, length / 2);
          break;
        case 1:
          for (Session* one : {&plain, &session}) one->copy(s, 1 - s, length / 2);
          break;
        case 2:
          if (!session.draft(s, 3, false).empty()) session.draft(s, 4, true);
          break;
        default:
          if (length > 120) break;
          const Ids ids = random_ids(1 + random() % 50, random());
          for (Session* one : {&plain, &session}) one->feed(s, ids);
          REQUIRE(copied(plain.logits()) == copied(session.logits()));
      }
      REQUIRE(plain.length(s) == session.length(s));
    }
  }
}

TEST_CASE("drafts go on after a text was cut where the layer has read") {
  const auto model = with_draft_layer();
  Session session(model, options(2));
  session.feed(0, random_ids(80, 1));
  CHECK(!session.draft(0, 1, false).empty());
  session.truncate(0, 40);
  CHECK(session.draft(0, 1, false).empty());  // the features of token 39 were read
  session.feed(0, Ids{4});
  CHECK(!session.draft(0, 1, false).empty());
  session.copy(0, 1, 41);
  CHECK(!session.draft(1, 1, false).empty());
  session.truncate(0, 0);
  CHECK(session.draft(0, 1, false).empty());
}

TEST_CASE("drafts know nothing of tokens that were cut") {
  const auto model = with_draft_layer();
  Session session(model, options());
  const Ids ids = random_ids(60, 1), more = random_ids(20, 2);
  for (const std::int64_t length : {59, 58, 40, 25, 1}) {
    CAPTURE(length);
    std::vector<std::pair<Row, Row>> after_cut;
    for (const std::int32_t last : {11, 12}) {
      Ids all = ids;
      std::ranges::fill(all.begin() + length, all.end(), last);
      session.truncate(0, 0);
      session.feed(0, all);
      drafts(session, 0);
      session.truncate(0, length);
      session.feed(0, more);
      after_cut.push_back(drafts(session, 0));
    }
    CHECK(after_cut[0] == after_cut[1]);
  }
}

TEST_CASE("sessions without a draft layer, and wrong calls") {
  const auto model = with_draft_layer();
  Session plain(model, {.context = 64});
  CHECK_THROWS_AS(plain.draft(0, 1, false), ValueError);
  CHECK_FALSE(test::tiny_model()->facts().drafts);
  CHECK_THROWS_AS(Session(test::tiny_model(), options()), UnsupportedError);
  Session session(model, options());
  CHECK_THROWS_AS(session.draft(1, 1, false), ValueError);
  CHECK_THROWS_AS(session.draft(0, 50, false), ValueError);
  CHECK_THROWS_AS(session.draft(0, 1, true), ValueError);
  CHECK(session.allocated_bytes() == session.memory().total() - session.memory().weights_mapped);
}

TEST_CASE("a budget makes steps narrower, but not those of the draft layer") {
  const auto model = with_draft_layer();
  const Ids ids = random_ids(90, 1);
  Session whole(model, options());
  whole.feed(0, ids);
  const auto want = drafts(whole, 0);
  SessionOptions o = options();
  o.weights = WeightMode::mapped;
  const std::int64_t all = plan_model(*model, o).memory.total();
  int n_narrow = 0;
  for (o.mem_budget = all; const auto planned = plan_if_fits(*model, o); o.mem_budget -= all / 50) {
    const SessionOptions& narrow = planned->options;
    if (narrow.prefill_width == whole.options().prefill_width || narrow.cache_k != f16) continue;
    ++n_narrow;
    Session session(model, o);
    session.feed(0, ids);
    CHECK(drafts(session, 0) == want);
  }
  CHECK(n_narrow > 1);
}

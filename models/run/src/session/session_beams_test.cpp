// A beam search over the sequences of a session has the results of one session per hypothesis.
#include "weft/run/session_beams.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"
#include "weft/sample/beam_search.h"
#include "weft/sample/log_sum_exp.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

using test::tiny_model;
using Ids = std::vector<TokenId>;
const Ids kPrompt{3, 1, 4, 1, 5, 9, 2, 6};

// Texts end behind token 7.
class Shared : public SessionBeams {
 public:
  using SessionBeams::SessionBeams;
  bool ends(std::size_t, TokenId token) override { return token == 7; }
};

// Computes every hypothesis from its beginning.
class Alone : public BeamModel {
 public:
  explicit Alone(const std::shared_ptr<const Model>& model) : model_(model) {}
  std::span<const float> logprobs(std::size_t beam) override {
    Session session(model_, {.context = 100});
    Ids all = kPrompt;
    all.insert(all.end(), texts_[beam].begin(), texts_[beam].end());
    session.feed(0, all);
    const auto logits = session.logits();
    const double total = log_sum_exp(logits);
    row_.assign(logits.begin(), logits.end());
    for (float& x : row_) x = static_cast<float>(x - total);
    return row_;
  }
  bool ends(std::size_t, TokenId token) override { return token == 7; }
  void advance(std::span<const BeamStep> chosen) override {
    std::vector<Ids> next;
    for (const BeamStep& step : chosen) {
      next.push_back(texts_[step.beam]);
      next.back().push_back(step.token);
    }
    texts_ = next;
  }

 private:
  std::shared_ptr<const Model> model_;
  std::vector<Ids> texts_{Ids{}};
  std::vector<float> row_;
};

TEST_CASE("hypotheses that share a session are the same as computed alone") {
  for (const DType matrices : {f32, q8_0}) {
    const auto model = tiny_model({.matrices = matrices});
    // Flat probabilities make hypotheses change places; the prompt and texts cross no block, and
    // the long ones do.
    for (const auto& [beams, n] : {std::pair{1, 10}, {3, 12}, {5, 70}}) {
      CAPTURE(beams);
      const BeamOptions options{.beams = static_cast<std::size_t>(beams),
                                .stopping = EarlyStopping::never,
                                .max_tokens = n};
      Session session(model, {.context = 100, .sequences = beams});
      session.feed(0, kPrompt);
      Shared shared(session);
      Alone alone(model);
      BeamSearch a(shared, options), b(alone, options);
      while (a.step()) REQUIRE(b.step());
      const auto got = a.best(), expected = b.best();
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i].tokens == expected[i].tokens);
        CHECK(got[i].logprob == expected[i].logprob);
      }
    }
  }
}

TEST_CASE("a search that does not fit into the session is rejected") {
  const auto model = tiny_model();
  {
    Session session(model, {.context = 100, .sequences = 3, .prefill_width = 2});
    session.feed(0, kPrompt);
    CHECK_THROWS_AS(SessionBeams beams(session), ValueError);
  }
  Session session(model, {.context = 10, .sequences = 2});
  CHECK_THROWS_AS(SessionBeams beams(session), ValueError);  // nothing was fed
  session.feed(0, kPrompt);
  SessionBeams beams(session);
  BeamSearch wide(beams, {.beams = 3, .max_tokens = 5});
  CHECK_THROWS_AS(wide.step(), ValueError);
  SessionBeams again(session);
  BeamSearch deep(again, {.beams = 2, .max_tokens = 5});
  CHECK(deep.step());
  CHECK(deep.step());
  CHECK_THROWS_AS(deep.step(), ValueError);  // the context is full
  CHECK(deep.best().front().tokens.size() == 2);
}

}  // namespace
}  // namespace weft

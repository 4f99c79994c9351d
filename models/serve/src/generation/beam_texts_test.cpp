// A search over the sequences of a session against all texts that there are.
#include "weft/serve/beam_texts.h"

#include <cmath>
#include <functional>
#include <limits>

#include "weft/base/error.h"
#include "weft/sample/log_sum_exp.h"
#include "weft/sample/sampler.h"

#include "generation/generation_test_support.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::stories;
using test::tiny_model;
using test::write;
using Ids = std::vector<TokenId>;

constexpr float kNever = -std::numeric_limits<float>::infinity();
const Ids kBeamPrompt{3, 1, 4, 1, 5, 9, 2, 6};

// Every text behind a prompt, each computed by itself from logits of the session.
class AllTexts {
 public:
  // `ends`: whether a text is over, apart from those that have `longest` tokens.
  AllTexts(Session& session, Ids prompt, std::size_t longest, double penalty)
      : session_(session), prompt_(std::move(prompt)), longest_(longest), penalty_(penalty) {}

  std::function<bool(const Ids&)> ends = [](const Ids&) { return false; };
  // Which tokens may follow a text: those whose logarithms it leaves above -inf.
  std::function<void(const Ids&, std::span<float>)> forbid = [](const Ids&, std::span<float>) {};

  std::vector<Hypothesis> best_first() {
    all_.clear();
    go_on({}, 0);
    std::ranges::stable_sort(all_, std::ranges::greater(), &Hypothesis::score);
    return all_;
  }

 private:
  void go_on(const Ids& text, double sum) {
    Ids whole = prompt_;
    whole.insert(whole.end(), text.begin(), text.end());
    session_.truncate(0, 0);
    session_.feed(0, whole);
    const std::span<const float> logits = session_.logits();
    const double total = log_sum_exp(logits);
    std::vector<float> row;
    for (const float x : logits) row.push_back(static_cast<float>(x - total));
    forbid(text, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == kNever) continue;
      Ids longer = text;
      longer.push_back(static_cast<TokenId>(i));
      const double logprob = sum + row[i];
      const double score = logprob / std::pow(static_cast<double>(longer.size()), penalty_);
      const bool over = ends(longer);
      if (over || longer.size() == longest_)
        all_.push_back({longer, logprob, score, over});
      else
        go_on(longer, logprob);
    }
  }

  Session& session_;
  const Ids prompt_;
  const std::size_t longest_;
  const double penalty_;
  std::vector<Hypothesis> all_;
};

void check_same(const BeamTexts& got, const std::vector<Hypothesis>& expected) {
  REQUIRE(got.best.size() <= expected.size());
  for (std::size_t i = 0; i < got.best.size(); ++i) {
    CAPTURE(i);
    CHECK(got.best[i].hypothesis.tokens == expected[i].tokens);
    CHECK(got.best[i].hypothesis.logprob == expected[i].logprob);
    CHECK(got.best[i].hypothesis.score == expected[i].score);
    CHECK(got.best[i].hypothesis.ended == expected[i].ended);
  }
}

TEST_CASE("as many beams as tokens find the best texts of two tokens") {
  const auto model = tiny_model();
  Session session(model, {.context = 100, .sequences = 50});
  Session alone(model, {.context = 100});
  AllTexts all(alone, kBeamPrompt, 2, 1);
  const auto expected = all.best_first();
  REQUIRE(expected.size() == 50 * 50);
  Generation generation(session, 0, {.max_tokens = 2});
  generation.begin(kBeamPrompt);
  const BeamTexts found = search_texts(generation, {.beams = 50, .max_tokens = 77});
  CHECK(found.best.size() == 50);
  CHECK(found.n_steps == 2);
  CHECK_FALSE(found.cancelled);
  check_same(found, expected);
}

TEST_CASE("texts under a grammar, with stop strings and ends, are the best of all of them") {
  const auto model = stories();
  const Tokenizer& tokenizer = model->tokenizer();
  TextRulesOptions rules{.grammar = Grammar::from_regex("[ab]{1,3}[.!]"), .stops = {"ba"}};
  for (const double penalty : {0.0, 1.0, 2.0}) {
    CAPTURE(penalty);
    Session session(model, {.context = 64, .sequences = 40});
    Session alone(model, {.context = 64});
    const std::vector<TokenId> prompt = encode_prompt(*model, "Once");
    AllTexts all(alone, prompt, 40, penalty);
    const auto follow = [&](const Ids& text) {
      TextRules followed(tokenizer, rules);
      bool over = false;
      for (const TokenId id : text) over = followed.accept(id);
      return std::pair(followed, over || followed.at_stop());
    };
    all.ends = [&](const Ids& text) { return follow(text).second; };
    all.forbid = [&](const Ids& text, std::span<float> row) { follow(text).first.restrict(row); };
    const auto expected = all.best_first();
    CAPTURE(expected.size());
    REQUIRE(expected.size() > 20);

    Generation generation(session, 0, {.rules = rules});
    generation.begin(prompt);
    const BeamTexts found = search_texts(
        generation, {.beams = 40, .length_penalty = penalty, .stopping = EarlyStopping::never});
    CHECK(found.best.size() == std::min<std::size_t>(40, expected.size()));
    check_same(found, expected);
    for (const BeamTexts::Found& one : found.best) {
      const std::string whole = tokenizer.decode(one.hypothesis.tokens);
      const std::size_t stop = whole.find("ba");
      CHECK(one.text == whole.substr(0, stop));
      CHECK((stop != whole.npos || rules.grammar->accepts(whole)));
    }
  }
}

TEST_CASE("one beam is the greedy text, and other beams do not depend on steps") {
  const auto model = stories();
  Session session(model, {.context = 64});
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 20, .ignore_eos = true};
  Generation greedy(session, 0, options);
  greedy.begin("Once upon a time");
  const auto written = write(greedy);
  options.sampler = {.seed = 1, .temperature = 5};  // a search draws nothing
  Generation generation(session, 0, options);
  generation.begin("Once upon a time");
  const BeamTexts found = search_texts(generation, {.beams = 1});
  REQUIRE(found.best.size() == 1);
  CHECK(found.best[0].text == written.text);
  CHECK(found.best[0].hypothesis.tokens == written.tokens);

  std::vector<std::string> texts[2];
  for (const std::int64_t width : {4, 512}) {
    Session several(model, {.context = 64, .sequences = 4, .prefill_width = width});
    Generation from(several, 0, options);
    from.begin("Once upon a time");
    for (const auto& one : search_texts(from, {.beams = 4}).best)
      texts[width == 4].push_back(one.text);
  }
  CHECK(texts[0].size() == 4);
  CHECK(texts[0] == texts[1]);
}

TEST_CASE("a generation has ended after a search, and can begin again from its prompt") {
  const auto model = tiny_model();
  Session session(model, {.context = 20, .sequences = 3});
  session.feed(2, kBeamPrompt);
  Generation generation(session, 0, {.sampler = {.temperature = 0}});
  generation.begin(kBeamPrompt);
  const BeamTexts found = search_texts(generation, {.beams = 3});
  CHECK(generation.ended());
  CHECK(generation.next().stop == StopReason::max_tokens);
  // Up to the end of the context; the last token is not fed.
  for (const auto& one : found.best) {
    CHECK(one.hypothesis.tokens.size() == 20 - kBeamPrompt.size() + 1);
    CHECK_FALSE(one.hypothesis.ended);
    CHECK(one.text.empty());  // there is no tokenizer
  }
  CHECK(Ids(generation.held().begin(), generation.held().end()) == kBeamPrompt);
  generation.begin(kBeamPrompt);
  CHECK(generation.n_reused() == std::ssize(kBeamPrompt) - 1);
  Session fresh(model, {.context = 20});
  CHECK(write(generation).tokens ==
        write(fresh, {.sampler = {.temperature = 0}}, kBeamPrompt).tokens);
}

TEST_CASE("a search that is cancelled gives what it found") {
  const auto model = tiny_model();
  Session session(model, {.context = 100, .sequences = 2});
  std::atomic<bool> cancel{true};
  Generation generation(session, 0, {.max_tokens = 5, .cancel = &cancel});
  generation.begin(kBeamPrompt);
  const BeamTexts nothing = search_texts(generation, {.beams = 2});  // within the prompt
  CHECK(nothing.cancelled);
  CHECK(nothing.best.empty());
  CHECK(generation.next().stop == StopReason::cancelled);
  cancel = false;
  generation.begin(kBeamPrompt);
  CHECK(generation.prefill());
  cancel = true;
  const BeamTexts none = search_texts(generation, {.beams = 2});  // behind it
  CHECK(none.cancelled);
  CHECK(none.n_steps == 0);
  CHECK(generation.next().stop == StopReason::cancelled);
}

TEST_CASE("searches that cannot begin are rejected") {
  const auto model = stories();
  Session session(model, {.context = 64, .sequences = 2});
  Generation second(session, 1);
  second.begin("Once");
  CHECK_THROWS_AS(search_texts(second, {.beams = 2}), ValueError);
  Generation begun(session, 0);
  begun.begin("Once");
  begun.next();
  CHECK_THROWS_AS(search_texts(begun, {.beams = 2}), ValueError);
  Generation healed(session, 0, {.token_healing = true});
  healed.begin("Once upon a ti");
  CHECK_THROWS_AS(search_texts(healed, {.beams = 2}), ValueError);
  Generation never(session, 0);
  CHECK_THROWS_AS(search_texts(never, {.beams = 2}), ValueError);
  Generation wide(session, 0, {.max_tokens = 4});
  wide.begin("Once");
  CHECK_THROWS_AS(search_texts(wide, {.beams = 3}), ValueError);  // two sequences
  wide.begin("Once");
  CHECK_THROWS_AS(search_texts(wide, {.beams = 0}), ValueError);
  // A grammar that no token of the vocabulary can begin.
  Generation stuck(session, 0, {.rules = {.grammar = Grammar::from_regex("a"), .banned = {"a"}}});
  stuck.begin("Once");
  CHECK_THROWS_AS(search_texts(stuck, {.beams = 2}), ValueError);
}

}  // namespace
}  // namespace weft

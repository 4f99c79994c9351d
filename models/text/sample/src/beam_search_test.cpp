// The search against all texts of small made-up models, and the reports about single tokens.
#include "weft/sample/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/sample/logprobs.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

// Random probabilities that depend on all earlier tokens.
struct Chance {
  std::uint32_t seed = 1;
  std::size_t n_tokens = 4;
  std::function<bool(const Ids&)> over = [](const Ids& text) { return text.back() == 0; };
  std::function<bool(const Ids&)> forbidden = [](const Ids&) { return false; };

  std::vector<float> row(const Ids& text) const {
    std::uint32_t hash = seed;
    for (const TokenId id : text) hash = hash * 31 + static_cast<std::uint32_t>(id) + 1;
    std::mt19937 random(hash);
    std::vector<float> p(n_tokens);
    float total = 0;
    for (float& x : p) total += x = static_cast<float>(random() % 999983 + 1);
    for (std::size_t i = 0; i < n_tokens; ++i) {
      Ids longer = text;
      longer.push_back(static_cast<TokenId>(i));
      p[i] = forbidden(longer) ? kNever : std::log(p[i] / total);
    }
    return p;
  }
};

class Fake : public BeamModel {
 public:
  explicit Fake(const Chance& chance) : chance_(chance) {}
  std::span<const float> logprobs(std::size_t beam) override {
    return row_ = chance_.row(texts_.at(beam));
  }
  bool ends(std::size_t beam, TokenId token) override {
    Ids text = texts_.at(beam);
    text.push_back(token);
    return chance_.over(text);
  }
  void advance(std::span<const BeamStep> chosen) override {
    std::vector<Ids> next;
    for (const BeamStep& step : chosen) {
      next.push_back(texts_.at(step.beam));
      next.back().push_back(step.token);
    }
    texts_ = std::move(next);
  }

 private:
  const Chance& chance_;
  std::vector<Ids> texts_{Ids{}};
  std::vector<float> row_;
};

double score(double logprob, std::size_t n, double penalty) {
  return logprob / std::pow(static_cast<double>(n), penalty);
}

// Every text there is, best first.
std::vector<Hypothesis> all_texts(const Chance& chance, std::size_t longest, double penalty) {
  std::vector<Hypothesis> all;
  const std::function<void(const Ids&, double)> extend = [&](const Ids& text, double sum) {
    const std::vector<float> row = chance.row(text);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == kNever) continue;
      Ids longer = text;
      longer.push_back(static_cast<TokenId>(i));
      const double logprob = sum + row[i];
      const bool over = chance.over(longer);
      if (over || longer.size() == longest)
        all.push_back({longer, logprob, score(logprob, longer.size(), penalty), over});
      else
        extend(longer, logprob);
    }
  };
  extend({}, 0);
  std::ranges::stable_sort(all, std::ranges::greater(), &Hypothesis::score);
  return all;
}

std::vector<Hypothesis> search(const Chance& chance, const BeamOptions& options) {
  Fake model(chance);
  BeamSearch search(model, options);
  while (search.step()) {
  }
  return search.best();
}

void check_same(const std::vector<Hypothesis>& got, const std::vector<Hypothesis>& expected) {
  REQUIRE(got.size() <= expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].tokens == expected[i].tokens);
    CHECK(got[i].logprob == expected[i].logprob);
    CHECK(got[i].score == expected[i].score);
    CHECK(got[i].ended == expected[i].ended);
  }
}

TEST_CASE("beams for all texts find the best of all texts") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    for (const double penalty : {-1.0, 0.0, 0.5, 1.0, 2.0}) {
      CAPTURE(seed);
      CAPTURE(penalty);
      const Chance chance{.seed = seed};
      const auto all = all_texts(chance, 5, penalty);
      REQUIRE(all.size() == 1 + 3 * (1 + 3 * (1 + 3 * (1 + 3 * 4))));
      const auto got = search(chance, {.beams = 400,
                                       .length_penalty = penalty,
                                       .stopping = EarlyStopping::never,
                                       .max_tokens = 5});
      REQUIRE(got.size() == all.size());
      check_same(got, all);
    }
  }
}

TEST_CASE("texts end, and tokens are forbidden, as the model says") {
  // After 1 2 the text is over, as behind a stop string; 3 must not follow 3.
  const auto ends_with = [](const Ids& text, const Ids& end) {
    return text.size() >= end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin());
  };
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Chance chance{.seed = seed,
                        .over =
                            [&](const Ids& t) {
                              return ends_with(t, {1, 2});
                            },
                        .forbidden =
                            [&](const Ids& t) {
                              return ends_with(t, {3, 3});
                            }};
    const auto all = all_texts(chance, 5, 1);
    check_same(search(chance, {.beams = 1000, .stopping = EarlyStopping::never, .max_tokens = 5}),
               all);
  }
}

TEST_CASE("few beams: greedy with one, and none are lost if nearly every token ends a text") {
  double gained = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const Chance chance{.seed = seed, .n_tokens = 50, .over = [](const Ids&) { return false; }};
    const Hypothesis greedy = search(chance, {.beams = 1, .max_tokens = 8}).front();
    Ids text;
    while (text.size() < 8) {
      const std::vector<float> row = chance.row(text);
      text.push_back(static_cast<TokenId>(std::ranges::max_element(row) - row.begin()));
    }
    CHECK(greedy.tokens == text);
    CHECK(!greedy.ended);
    // Not for every model: a text that leads away from the best one can be better for a while.
    gained += search(chance, {.beams = 6, .max_tokens = 8}).front().score - greedy.score;
    // Only 48 and 49 continue the text, at any place.
    const Chance ending{
        .seed = seed, .n_tokens = 50, .over = [](const Ids& t) { return t.back() < 48; }};
    Fake model(ending);
    BeamSearch few(model, {.beams = 3, .stopping = EarlyStopping::never, .max_tokens = 3});
    CHECK(few.step());
    const auto best = few.best();
    CHECK(std::ranges::count(best, false, &Hypothesis::ended) <= 2);
    CHECK(model.logprobs(1).size() == 50);  // both continued
    while (few.step()) {
    }
    CHECK(few.best().size() == 3);
  }
  CHECK(gained > 0);
}

TEST_CASE("when a search is over") {
  int earlier = 0;
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const Chance chance{.seed = seed};
    const auto run = [&](EarlyStopping stopping, double penalty) {
      Fake model(chance);
      BeamSearch search(
          model, {.beams = 3, .length_penalty = penalty, .stopping = stopping, .max_tokens = 40});
      while (search.step()) {
      }
      return std::pair(search.best(), search.n_tokens());
    };
    // Sums cannot grow, so that stopping then costs nothing.
    const auto [likely, n_likely] = run(EarlyStopping::likely, 0);
    const auto [never, n_never] = run(EarlyStopping::never, 0);
    check_same(likely, never);
    CHECK(n_likely <= n_never);
    const auto [first, n_first] = run(EarlyStopping::first, 1);
    CHECK(std::ranges::count(first, true, &Hypothesis::ended) == 3);
    CHECK(run(EarlyStopping::likely, 1).second >= n_first);
    // The mean of a text of 40 tokens may still become better.
    CHECK(run(EarlyStopping::never, 1).first.front().score >= first.front().score);
    earlier += n_first < 40;
  }
  CHECK(earlier > 40);
}

TEST_CASE("a search without allowed tokens, and invalid options") {
  const Chance none{.forbidden = [](const Ids& t) { return t.size() == 3; }};
  Fake model(none);
  BeamSearch stuck(model, {.beams = 2, .max_tokens = 5});
  CHECK(stuck.best().empty());
  CHECK(stuck.step());
  CHECK(stuck.step());
  while (stuck.step()) {
  }
  CHECK(stuck.n_tokens() >= 2);
  CHECK_FALSE(stuck.best().empty());  // the hypotheses so far, ended or not
  const Chance nothing{.forbidden = [](const Ids&) { return true; }};
  Fake silent(nothing);
  BeamSearch at_once(silent, {.beams = 2, .max_tokens = 5});
  CHECK_THROWS_AS(at_once.step(), ValueError);
  CHECK(search(Chance{}, {.max_tokens = 0}).empty());
  CHECK_THROWS_AS(search(Chance{}, {.beams = 0}), ValueError);
  CHECK_THROWS_AS(search(Chance{}, {.beams = 5000}), ValueError);
  CHECK_THROWS_AS(search(Chance{}, {.length_penalty = NAN}), ValueError);
  CHECK_THROWS_AS(search(Chance{}, {.max_tokens = -1}), ValueError);
}

TEST_CASE("logarithms of probabilities: the model's own, with bytes, as JSON") {
  test::VocabularyBuilder builder;
  builder.parts.kind = "llama";
  for (int byte = 0; byte < 256; ++byte)
    builder.add(fmt::format("<0x{:02X}>", byte), TokenType::byte, 0);
  const TokenId word = builder.add("\xE2\x96\x81\xC3\xA9\"", TokenType::normal, 0);
  const auto tokenizer = make_tokenizer(builder.build());
  std::vector<float> logits(static_cast<std::size_t>(word) + 3, kNever);
  const auto at = [&](TokenId id) -> float& { return logits[static_cast<std::size_t>(id)]; };
  at(word) = std::log(6.0F);
  at(0xC3) = std::log(3.0F);
  at(word + 2) = std::log(1.0F);  // more logits than tokens
  const TokenLogprobs found = token_logprobs(*tokenizer, logits, 0xC3, 3);
  CHECK(found.chosen.bytes == "\xC3");
  CHECK(found.chosen.logprob == doctest::Approx(std::log(0.3)));
  REQUIRE(found.top.size() == 3);
  CHECK(found.top[0].token == word);
  CHECK(found.top[0].bytes == " \xC3\xA9\"");
  CHECK(found.top[0].logprob == doctest::Approx(std::log(0.6)));
  CHECK(found.top[2].token == word + 2);
  CHECK(found.top[2].bytes.empty());
  CHECK(token_logprobs(*tokenizer, logits, 7, 0).chosen.logprob == kNever);
  CHECK(token_logprobs(*tokenizer, logits, 7, 999).top.size() == logits.size());
  CHECK_THROWS_AS(token_logprobs(*tokenizer, logits, word + 3, 1), ValueError);
  CHECK_THROWS_AS(token_logprobs(*tokenizer, logits, -1, 1), ValueError);

  const auto json = nlohmann::json::parse(to_json(found));
  CHECK(json["token"] == "\xEF\xBF\xBD");
  CHECK(json["bytes"] == nlohmann::json{0xC3});
  CHECK(json["id"] == 0xC3);
  CHECK(json["top_logprobs"][0]["token"] == " \xC3\xA9\"");
  CHECK(json["top_logprobs"][0]["bytes"] == nlohmann::json{0x20, 0xC3, 0xA9, 0x22});
  CHECK(nlohmann::json::parse(to_json(token_logprobs(*tokenizer, logits, 7, 0)))["logprob"] ==
        -9999);
}

}  // namespace
}  // namespace weft

// Generations in common steps write what they write alone.
#include "weft/base/error.h"
#include "weft/serve/generation.h"

#include "generation/generation_test_support.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::tiny_model;
using test::write;
using test::Written;
using Ids = std::vector<TokenId>;

Ids prompt_of(int i, int n) {
  Ids ids;
  for (int t = 0; t < n; ++t) ids.push_back((7 * i + t * t) % 50);
  return ids;
}

struct TextRuns {
  TextRuns(Session& session, std::span<const int> lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      options.push_back({.sampler = {.seed = i}, .max_tokens = 12 + static_cast<int>(i)});
      prompts.push_back(prompt_of(static_cast<int>(i), lengths[i]));
      all.emplace_back(session, static_cast<std::int32_t>(i), options[i]);
      all[i].begin(prompts[i]);
    }
    for (Generation& g : all) pointers.push_back(&g);
    written.resize(all.size());
  }
  bool step(Batch& batch) {
    for (const Batch::Event& e : batch.step(pointers))
      add(e.event, written[static_cast<std::size_t>(e.generation - all.data())]);
    return std::ranges::any_of(all, [](const Generation& g) { return !g.ended(); });
  }
  std::vector<GenerationOptions> options;
  std::vector<Ids> prompts;
  std::vector<Generation> all;
  std::vector<Generation*> pointers;
  std::vector<Written> written;
};

TEST_CASE("a batch generates the same texts as each request alone") {
  const auto model = tiny_model();
  const std::vector<int> lengths{1, 5, 33, 8, 70, 2};
  struct Room {
    std::int64_t width, rows;
  };
  for (const Room room : {Room{512, 16}, Room{8, 2}, Room{3, 1}, Room{1, 1}}) {
    CAPTURE(room.width);
    Session session(
        model,
        {.context = 150, .sequences = 6, .prefill_width = room.width, .logits_rows = room.rows});
    TextRuns texts(session, lengths);
    Batch batch(session);
    int n_steps = 0;
    while (texts.step(batch)) REQUIRE(++n_steps < 1000);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      CAPTURE(i);
      Session alone(model, {.context = 150});
      const Written expected = write(alone, texts.options[i], texts.prompts[i]);
      CHECK(texts.written[i].tokens == expected.tokens);
      CHECK(texts.written[i].stop == StopReason::max_tokens);
    }
  }
}

TEST_CASE("cancelling one request does not affect the others") {
  const auto model = tiny_model();
  Session session(model, {.context = 150, .sequences = 3, .prefill_width = 8});
  TextRuns texts(session, std::vector<int>{4, 60, 4});
  Batch batch(session);
  for (int i = 0; i < 4; ++i) texts.step(batch);
  CHECK(texts.all[1].n_new() == 0);  // still within its prompt
  texts.all[1].cancel();
  while (texts.step(batch)) {
  }
  CHECK(texts.written[1].stop == StopReason::cancelled);
  CHECK(texts.written[1].tokens.empty());
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    Session alone(model, {.context = 150});
    CHECK(texts.written[i].tokens == write(alone, texts.options[i], texts.prompts[i]).tokens);
  }
}

TEST_CASE("an interrupted step counts for no request") {
  const auto model = tiny_model();
  Session session(model, {.context = 150, .sequences = 2});
  TextRuns texts(session, std::vector<int>{4, 9});
  Batch batch(session);
  const std::atomic<bool> cancel{true};
  CHECK(batch.step(texts.pointers, &cancel).empty());
  while (texts.step(batch)) {
  }
  Session alone(model, {.context = 150});
  CHECK(texts.written[1].tokens == write(alone, texts.options[1], texts.prompts[1]).tokens);
}

TEST_CASE("forced tokens and a batch") {
  const auto model = test::stories();
  const auto grammar = Grammar::from_regex("( a| the) little girl and the (bear|fox)\\.");
  Session session(model, {.context = 100, .sequences = 2});
  const GenerationOptions options{.sampler = {.temperature = 0}, .rules = {.grammar = grammar}};
  std::vector<Generation> both;
  both.emplace_back(session, 0, options);
  both.emplace_back(session, 1, options);
  both[0].begin("Once upon a time there was");
  both[1].begin("One day");
  std::vector<Generation*> pointers{&both[0], &both[1]};
  std::string text[2];
  Batch batch(session);
  while (!both[0].ended() || !both[1].ended())
    for (const Batch::Event& e : batch.step(pointers))
      text[e.generation == &both[1]] += e.event.text;
  CHECK(grammar->accepts(text[0]));
  CHECK(grammar->accepts(text[1]));
}

TEST_CASE("a batch of incompatible generations is rejected") {
  const auto model = tiny_model();
  Session session(model, {.context = 50, .sequences = 2}), other(model, {.context = 50});
  Generation a(session, 0), b(session, 0), c(other, 0);
  Batch batch(session);
  // A text that has not begun makes no events: waiting for one would never end.
  CHECK_THROWS_AS(batch.step(std::vector<Generation*>{&a}), ValueError);
  for (Generation* text : {&a, &b, &c}) text->begin(std::vector<TokenId>{1, 2});
  CHECK_THROWS_AS(batch.step(std::vector<Generation*>{&a, &b}), ValueError);
  CHECK_THROWS_AS(batch.step(std::vector<Generation*>{&a, &c}), ValueError);
  CHECK(batch.step({}).empty());
  CHECK(batch.step(std::vector<Generation*>{&a}).size() == 1);
}

}  // namespace
}  // namespace weft

// Texts are the same with any draft.
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/serve/draft.h"
#include "weft/serve/generation.h"

#include "generation/generation_test_support.h"
#include "support/mixed_model.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;

// Guesses from a function.
class MadeDraft final : public Draft {
 public:
  using Make = std::function<Ids(std::span<const TokenId>, std::size_t)>;
  explicit MadeDraft(Make make) : make_(std::move(make)) {}
  void begin() override { ++n_begun; }
  void propose(const DraftRequest& request, Ids& guesses) override {
    const Ids made = make_(request.tokens, request.max);
    guesses.insert(guesses.end(), made.begin(), made.end());
  }
  int n_begun = 0;

 private:
  Make make_;
};

std::shared_ptr<Draft> made(MadeDraft::Make make) {
  return std::make_shared<MadeDraft>(std::move(make));
}

Ids propose(Draft& draft, const Ids& tokens, std::size_t max) {
  Ids guesses;
  draft.propose({.tokens = tokens, .max = max}, guesses);
  return guesses;
}

struct Text {
  Ids tokens;
  std::string text;
  StopReason stop = StopReason::none;
  std::int64_t guessed = 0, right = 0;
  bool same_as(const Text& other) const {
    return tokens == other.tokens && text == other.text && stop == other.stop;
  }
};

Text write(Session& session, const Ids& prompt, const GenerationOptions& options) {
  Text written;
  Generation generation(session, 0, options);
  generation.begin(prompt);
  while (!generation.ended()) {
    const GenerationEvent event = generation.next();
    written.text += event.text;
    written.stop = event.stop;
  }
  written.tokens.assign(generation.tokens().begin(), generation.tokens().end());
  if (options.draft) {
    written.guessed = options.draft->n_checked;
    written.right = options.draft->n_right;
  }
  CHECK(session.length(0) == std::ssize(generation.held()));
  return written;
}

// What follows the tokens in a text that is known, as far as they agree.
std::shared_ptr<Draft> knowing(const Ids& all, std::size_t wrong_every) {
  return made([=](std::span<const TokenId> tokens, std::size_t max) {
    Ids guesses;
    for (std::size_t i = tokens.size(); i < all.size() && guesses.size() < max; ++i)
      guesses.push_back(wrong_every > 0 && i % wrong_every == 0 ? all[i] + 1 : all[i]);
    return guesses;
  });
}

std::shared_ptr<Draft> random_draft(std::uint32_t seed, TokenId n_vocab) {
  auto random = std::make_shared<std::mt19937>(seed);
  return made([=](std::span<const TokenId>, std::size_t max) {
    Ids guesses((*random)() % (max + 1));
    for (TokenId& id : guesses)
      id = static_cast<TokenId>((*random)() % static_cast<unsigned>(n_vocab));
    return guesses;
  });
}

}  // namespace

TEST_CASE("a look-up guesses what followed the longest passage") {
  LookupDraft draft(2);
  draft.begin();
  CHECK(propose(draft, {1, 2}, 4).empty());
  CHECK(propose(draft, {1, 2, 3, 9, 1, 2}, 3) == Ids{3, 9, 1});
  CHECK(propose(draft, {1, 2, 3, 9, 1, 2, 4, 8, 1, 2}, 1) == Ids{4});  // equally long: the latest
  CHECK(propose(draft, {1, 2, 3, 9, 1, 2, 4, 8, 1, 2, 7}, 3).empty());
  CHECK(propose(draft, {1, 2, 3, 9, 1, 2, 4, 8, 1, 2, 7, 9, 1, 2}, 1) == Ids{4});
  draft.ended(Ids{1, 2, 3, 9, 1, 2, 4, 8, 1, 2, 7, 9, 1});
  draft.begin();
  CHECK(propose(draft, {5, 6, 5, 6}, 5) == Ids{5, 6, 5, 6, 5});  // a repetition goes on
  draft.ended(Ids{5, 6, 5, 6});
  draft.begin();  // another text, which continues as the first one did
  CHECK(propose(draft, {0, 3, 9}, 9) == Ids{1, 2, 4, 8, 1, 2, 7, 9, 1});
  CHECK(propose(draft, {0, 3, 9, 0, 1, 2}, 1) == Ids{7});  // the latest of the other text
  CHECK(propose(draft, {0, 3, 9, 1, 2, 7, 9, 1, 2}, 2).size() == 2);
  CHECK_THROWS_AS(LookupDraft(0), ValueError);
}

TEST_CASE("look-ups take linear time") {
  for (const TokenId period : {1, 2, 1000}) {
    LookupDraft draft(1);
    draft.begin();
    Ids tokens;
    for (TokenId i = 0; i < 20'000; ++i) {
      tokens.push_back(i % period);
      const Ids guesses = propose(draft, tokens, 4);
      if (i >= 2 * period) REQUIRE(guesses[0] == (i + 1) % period);
    }
  }
}

TEST_CASE("any draft leaves the text as it is") {
  const auto model = test::stories();
  Session session(model, {.context = 160});
  const Ids prompt = model->tokenizer().encode("Once upon a time there was a fox named Pip. Once");
  std::vector<GenerationOptions> kinds(5);
  kinds[0] = {.sampler = {.temperature = 0}, .max_tokens = 60};
  kinds[1] = {.sampler = {.seed = 7, .temperature = 0.9F}, .max_tokens = 60};
  kinds[2] = {.sampler = {.seed = 3, .repeat_penalty = 1.3F}, .logprobs = 2};
  kinds[3] = {.rules = {.grammar = Grammar::from_regex("( a| the)* (cat|dog)s?\\.")},
              .max_tokens = 30};
  kinds[4] = {.sampler = {.temperature = 0}, .rules = {.stops = {" was", "."}}, .feed_last = true};
  for (const GenerationOptions& plain : kinds) {
    const Text want = write(session, prompt, plain);
    std::vector<std::shared_ptr<Draft>> drafts{
        std::make_shared<LookupDraft>(1),
        std::make_shared<LookupDraft>(3),
        knowing(want.tokens, 0),
        knowing(want.tokens, 3),
        random_draft(1, static_cast<TokenId>(model->facts().n_vocab)),
        made([](auto, std::size_t max) { return Ids(max + 5, 1); }),  // too many
        made([](auto, std::size_t) {
          return Ids{1, -1, 1 << 30};
        }),  // no tokens
        made([](auto, std::size_t) -> Ids { throw std::runtime_error("no guess"); })};
    for (const auto& draft : drafts) {
      for (const std::size_t max : {1, 4, 40}) {
        GenerationOptions options = plain;
        options.draft = draft;
        options.max_guesses = max;
        CHECK(write(session, prompt, options).same_as(want));
      }
    }
  }
}

TEST_CASE("right guesses are counted, and need few steps") {
  const auto model = test::stories();
  Session session(model, {.context = 160});
  const Ids prompt = model->tokenizer().encode("Once upon a time");
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 41};
  const Text want = write(session, prompt, options);
  options.draft = knowing(want.tokens, 0);
  const Text text = write(session, prompt, options);
  CHECK(text.right == text.guessed);
  CHECK(text.right > 30);
}

TEST_CASE("models that forget write the same texts with drafts") {
  const auto model = test::mixed_model();
  REQUIRE(model->facts().recurrent);
  const Ids prompt{3, 1, 4, 1, 5, 9, 2, 6};
  const GenerationOptions plain{.sampler = {.seed = 5}, .max_tokens = 100, .ignore_eos = true};
  Session without(model, {.context = 128});
  const Text want = write(without, prompt, plain);
  for (const std::int64_t rewind : {0, 1, 3, 64}) {
    Session session(model, {.context = 128, .rewind = rewind});
    CHECK(session.memory().total() >= without.memory().total());
    for (const auto& draft : {knowing(want.tokens, 0), knowing(want.tokens, 4),
                              random_draft(2, static_cast<TokenId>(model->facts().n_vocab))}) {
      GenerationOptions options = plain;
      options.draft = draft;
      options.max_guesses = 20;
      CHECK(write(session, prompt, options).same_as(want));
      CHECK(draft->n_checked >= (rewind > 0 ? 40 : 0));
      if (rewind == 0) CHECK(draft->n_checked == 0);
    }
  }
}

TEST_CASE("forks, batches and saved sequences in the middle of guesses") {
  const auto model = test::stories();
  Session session(model, {.context = 160, .sequences = 2});
  const Ids prompt = model->tokenizer().encode("Once upon a time");
  const GenerationOptions plain{.sampler = {.seed = 9}, .max_tokens = 30};
  const Text want = write(session, prompt, plain);
  GenerationOptions options = plain;
  options.draft = knowing(want.tokens, 7);
  for (int before = 1; before < 12; ++before) {
    Generation generation(session, 0, options);
    generation.begin(prompt);
    for (int i = 0; i < before; ++i) generation.next();
    Generation fork = generation.fork(1);
    Batch batch(session);
    Generation* const both[] = {&generation, &fork};
    while (!generation.ended() || !fork.ended()) batch.step(both);
    for (const Generation* one : both)
      CHECK(Ids(one->tokens().begin(), one->tokens().end()) == want.tokens);
  }
  std::int64_t held = 0;
  {
    Generation generation(session, 0, options);
    generation.begin(prompt);
    for (int i = 0; i < 5; ++i) generation.next();
    held = std::ssize(generation.held());
  }
  CHECK(session.length(0) == held);
}

TEST_CASE("sequences lose guesses in the middle of a text") {
  const auto model = test::stories();
  Session session(model, {.context = 160});
  const Ids prompt = model->tokenizer().encode("Once upon a time");
  const GenerationOptions plain{.sampler = {.seed = 9}, .max_tokens = 30};
  const Text want = write(session, prompt, plain);
  GenerationOptions options = plain;
  options.draft = knowing(want.tokens, 7);
  std::int64_t n_dropped = 0;
  Generation generation(session, 0, options);
  generation.begin(prompt);
  while (!generation.ended()) {
    generation.next();
    CHECK(session.length(0) == std::ssize(generation.held()) + n_guessed(generation));
    if (generation.n_new() % 3 != 0) continue;
    n_dropped += n_guessed(generation);
    drop_guesses(generation);
    CHECK(session.length(0) == std::ssize(generation.held()));
  }
  CHECK(n_dropped > 0);
  CHECK(Ids(generation.tokens().begin(), generation.tokens().end()) == want.tokens);
}

TEST_CASE("guesses in a sequence that something else changes") {
  const auto model = test::stories();
  Session session(model, {.context = 160});
  const Ids prompt = model->tokenizer().encode("Once upon a time");
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 30};
  const Text want = write(session, prompt, options);
  options.draft = knowing(want.tokens, 0);
  const auto begun = [&] {
    auto generation = std::make_unique<Generation>(session, 0, options);
    generation->begin(prompt);
    for (int i = 0; i < 4; ++i) generation->next();
    REQUIRE(n_guessed(*generation) > 0);
    return generation;
  };
  auto old = begun();
  session.truncate(0, 0);
  const Ids other(40, 7);
  session.feed(0, other);
  old.reset();
  CHECK(session.length(0) == 40);  // of which it took nothing

  old = begun();
  session.truncate(0, 2);
  old->begin(prompt);
  CHECK(old->n_reused() == 2);
  while (!old->ended()) old->next();
  CHECK(Ids(old->tokens().begin(), old->tokens().end()) == want.tokens);
}

TEST_CASE("texts of a batch go on without guesses that do not fit") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 128, .sequences = 2, .cells = 128});  // two blocks
  session.feed(1, Ids(64, 1));
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 12, .ignore_eos = true};
  Session roomy(model, {.context = 128});
  const Text want = write(roomy, Ids(60, 2), options);
  options.draft = made([](auto tokens, std::size_t max) { return Ids(max, tokens.back()); });
  options.max_guesses = 8;
  Generation generation(session, 0, options);
  generation.begin(Ids(60, 2));
  Batch batch(session);
  Generation* const one[] = {&generation};
  while (generation.n_new() < 4) batch.step(one);
  CHECK(std::ranges::equal(generation.tokens().first(64), std::span(want.tokens).first(64)));
  CHECK_THROWS_AS(([&] {
                    for (;;) batch.step(one);
                  }()),
                  BudgetError);
  CHECK(options.draft->n_checked == 0);
  session.truncate(1, 0);  // now there is room for guesses, too
  while (!generation.ended()) batch.step(one);
  CHECK(Ids(generation.tokens().begin(), generation.tokens().end()) == want.tokens);
  CHECK(options.draft->n_checked > 0);
}

TEST_CASE("drafts hear what a step of several texts has") {
  struct Heard final : Draft {
    void begin() override {}
    void propose(const DraftRequest& request, Ids& guesses) override {
      asked.push_back({request.n_texts, request.n_guesses});
      guesses.assign(std::min<std::size_t>(request.max, 2), 1);
    }
    void stepped(const DraftStep& step) override { steps.push_back(step); }
    std::vector<std::pair<std::int64_t, std::int64_t>> asked;
    std::vector<DraftStep> steps;
  };
  const auto model = test::tiny_model();
  Session session(model, {.context = 200, .sequences = 3});
  const std::array drafts{std::make_shared<Heard>(), std::make_shared<Heard>()};
  std::vector<std::unique_ptr<Generation>> texts;
  std::vector<Generation*> all;
  for (std::int32_t i = 0; i < 3; ++i) {
    GenerationOptions options{.max_tokens = 30, .ignore_eos = true, .max_guesses = 2};
    if (i < 2) options.draft = drafts[std::size_t(i)];
    texts.push_back(std::make_unique<Generation>(session, i, options));
    texts.back()->begin(Ids(3, i));
    all.push_back(texts.back().get());
  }
  Batch batch(session);
  const auto both = std::span(all).first(2);
  while (drafts[0]->steps.empty()) batch.step(both);
  using Pair = std::pair<std::int64_t, std::int64_t>;
  CHECK(std::min(drafts[0]->asked[0], drafts[1]->asked[0]) == Pair{2, 0});
  CHECK(std::max(drafts[0]->asked[0], drafts[1]->asked[0]) == Pair{2, 2});
  const DraftStep first = drafts[0]->steps[0], second = drafts[1]->steps[0];
  CHECK(first.began == second.began);
  CHECK(first.n_texts == 2);
  CHECK(first.n_guesses == 4);
  CHECK_FALSE(first.reads_prompts);
  while (drafts[0]->steps.size() < 2) batch.step(all);
  CHECK(drafts[0]->steps[1].reads_prompts);
  CHECK(drafts[0]->steps[1].n_texts == 2);
  CHECK(drafts[0]->steps[1].began != first.began);
}

TEST_CASE("a prompt that is refused leaves a text with guesses as it is") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 64});
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 20, .ignore_eos = true};
  const Text want = write(session, {3, 1, 4}, options);
  options.draft = knowing(want.tokens, 0);
  Generation generation(session, 0, options);
  generation.begin(Ids{3, 1, 4});
  for (int i = 0; i < 3; ++i) generation.next();
  CHECK_THROWS_AS(generation.begin(Ids(65, 1)), ValueError);
  while (!generation.ended()) generation.next();
  CHECK(Ids(generation.tokens().begin(), generation.tokens().end()) == want.tokens);
}

}  // namespace weft

#include "weft/serve/speculation.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/generation.h"

#include "drafts/combined_draft.h"
#include "generation/generation_test_support.h"
#include "support/error_text.h"
#include "support/made_head.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;

struct Text {
  Ids tokens;
  std::string text;
  bool operator==(const Text&) const = default;
};

Text write(Session& session, const Ids& prompt, const GenerationOptions& options) {
  Generation generation(session, 0, options);
  generation.begin(prompt);
  Text written;
  while (!generation.ended()) written.text += generation.next().text;
  written.tokens.assign(generation.tokens().begin(), generation.tokens().end());
  return written;
}

// A model that seldom agrees with `stories`: the same with noise in its weights.
std::shared_ptr<const Model> noisy_tiny(float noise) {
  return test::tiny_model({.change = [=](const std::string& name, std::vector<float>& values) {
    std::uint32_t random = 7;
    for (const char c : name) random = random * 31 + static_cast<unsigned char>(c);
    for (float& v : values) {
      random = random * 1664525 + 1013904223;
      v += noise * (static_cast<float>(random >> 8) / static_cast<float>(1 << 24) - 0.5F);
    }
  }});
}

// Greedy and sampled texts are the same with drafts of this kind.
void check_same_texts(Session& session, DraftKind kind, std::size_t max_guesses) {
  const Speculation speculation(session,
                                {.kinds = {kind}, .max_guesses = max_guesses, .adaptive = false});
  std::vector<GenerationOptions> samplers(2);
  samplers[0] = {.sampler = {.temperature = 0}, .max_tokens = 40, .ignore_eos = true};
  samplers[1] = {.sampler = {.seed = 7, .temperature = 0.9F}, .ignore_eos = true};
  for (GenerationOptions options : samplers) {
    const Text want = write(session, {3, 1, 4, 1, 5}, options);
    options.draft = speculation.draft();
    CHECK(write(session, {3, 1, 4, 1, 5}, options) == want);
  }
  CHECK(speculation.counters(kind).n_drafted > 0);
}

}  // namespace

TEST_CASE("a draft model leaves texts as they are") {
  const auto model = test::tiny_model();
  const Ids prompt{3, 1, 4, 1, 5};
  Session session(model, {.context = 100});
  std::vector<GenerationOptions> kinds(3);
  kinds[0] = {.sampler = {.temperature = 0}, .max_tokens = 50, .ignore_eos = true};
  kinds[1] = {.sampler = {.seed = 7, .temperature = 0.9F}, .max_tokens = 50, .ignore_eos = true};
  kinds[2] = {.sampler = {.seed = 3, .repeat_penalty = 1.3F}, .ignore_eos = true};  // to the end
  for (const float noise : {0.0F, 0.05F, 3.0F}) {
    const auto draft = noisy_tiny(noise);
    for (const std::size_t max : {1, 4, 16}) {
      for (const bool adaptive : {false, true}) {
        const Speculation speculation(session,
                                      {.kinds = {DraftKind::model, DraftKind::ngram_simple},
                                       .max_guesses = max,
                                       .adaptive = adaptive,
                                       .draft_model = draft});
        for (GenerationOptions options : kinds) {
          const Text want = write(session, prompt, options);
          options.draft = speculation.draft();
          options.max_guesses = max;
          CHECK(write(session, prompt, options) == want);
        }
        if (!adaptive) {
          const SpeculationCounters counted = speculation.counters(DraftKind::model);
          CHECK(counted.n_drafted > 0);
          CHECK(counted.n_right <= counted.n_drafted);
          if (noise == 0) CHECK(counted.n_right > 0);
          CHECK(speculation.counters().n_drafted >= counted.n_drafted);
        }
      }
    }
  }
}

TEST_CASE("a model that is its own draft is always right") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 100});
  const Speculation speculation(
      session, {.kinds = {DraftKind::model}, .adaptive = false, .draft_model = model});
  const GenerationOptions options{.sampler = {.temperature = 0},
                                  .max_tokens = 60,
                                  .ignore_eos = true,
                                  .draft = speculation.draft()};
  for (const Ids& prompt : {Ids{3, 1, 4}, Ids{3, 1, 4, 8, 9}, Ids{2, 7}})
    write(session, prompt, options);
  const SpeculationCounters counted = speculation.counters();
  CHECK(counted.n_drafted > 100);
  CHECK(counted.n_right == counted.n_drafted);
}

TEST_CASE("a gain is only counted if steps without guesses were measured") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 100});
  serve::SharedDrafts shared(session, {.kinds = {DraftKind::ngram_simple}}, nullptr, {});
  int n_steps = 0;
  const auto count = [&](std::int64_t n_guesses, double seconds, double n_tokens) {
    const DraftStep step{.began = Clock::time_point(Clock::duration(++n_steps)),
                         .seconds = seconds,
                         .n_guesses = n_guesses};
    shared.stepped(step);
    shared.count_time(step, seconds, n_tokens);
  };
  for (int i = 0; i < 9; ++i) count(8, 4, 1);
  count(0, 2, 1);  // the first one of its width
  CHECK(shared.all.seconds == 0);
  CHECK(shared.all.seconds_without == 0);
  count(0, 1, 1);
  CHECK(shared.all.seconds == doctest::Approx(9 * 4 + 2 + 1));
  CHECK(shared.all.seconds_without == doctest::Approx(9 * 1 + 2 + 1));
  count(8, 4, 9);
  CHECK(shared.all.seconds == doctest::Approx(10 * 4 + 2 + 1));
  CHECK(shared.all.seconds_without == doctest::Approx(18 * 1 + 2 + 1));
}

TEST_CASE("drafts that are always wrong gain nothing, also if they are always used") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 100});
  const Speculation speculation(
      session, {.kinds = {DraftKind::model}, .adaptive = false, .draft_model = noisy_tiny(3)});
  CHECK(speculation.counters().seconds_without == 0);
  write(session, {3, 1, 4, 1, 5},
        {.sampler = {.temperature = 0},
         .max_tokens = 50,
         .ignore_eos = true,
         .draft = speculation.draft()});
  const SpeculationCounters counted = speculation.counters();
  CHECK(counted.n_drafted > 100);
  CHECK(counted.seconds > 0);
  CHECK(counted.seconds_without > 0);
  CHECK(counted.seconds < 60);
  CHECK(counted.seconds_without < 60);
}

TEST_CASE("a draft model proposes nothing that the rules forbid") {
  const auto model = test::stories();
  Session session(model, {.context = 160});
  const Speculation speculation(
      session, {.kinds = {DraftKind::model}, .adaptive = false, .draft_model = model});
  const Ids prompt = model->tokenizer().encode("The fox was");
  GenerationOptions options{
      .sampler = {.temperature = 0},
      .rules = {.grammar = Grammar::from_regex("( very)* (happy|tired)( and (happy|tired))*\\.")},
      .max_tokens = 40};
  const Text want = write(session, prompt, options);
  options.draft = speculation.draft();
  CHECK(write(session, prompt, options) == want);
  // Under the same rules, the same model is always right.
  CHECK(speculation.counters().n_right == speculation.counters().n_drafted);
}

TEST_CASE("a draft layer leaves texts as they are") {
  for (const std::string arch : {"glm4moe", "deepseek2", "qwen35"}) {
    CAPTURE(arch);
    const auto model = test::tiny_model({.arch = arch, .sizes = {.draft_layers = 1}});
    Session session(model, {.context = 100, .rewind = 9, .draft_layer = true});
    for (const std::size_t max : {1, 3, 9}) check_same_texts(session, DraftKind::mtp, max);
  }
  const auto plain = test::tiny_model();
  Session session(plain, {.context = 64});
  CHECK_THROWS_AS(Speculation(session, {.kinds = {DraftKind::mtp}}), ValueError);
}

TEST_CASE("a head leaves texts as they are") {
  const test::TempFolder folder;
  ModelOptions loading;
  loading.draft_file = (folder / "head.gguf").string();
  for (const Ids& ids : {Ids{}, Ids{9, 3, 44, 20, 0, 7}}) {
    test::write_head({.ids = {ids.begin(), ids.end()}}, loading.draft_file);
    const auto model = test::tiny_model({}, loading);
    Session session(model, {.context = 100, .draft_layer = true});
    for (const std::size_t max : {1, 4}) check_same_texts(session, DraftKind::eagle3, max);
    CHECK_THROWS_AS(Speculation(session, {.kinds = {DraftKind::mtp}}), ValueError);
  }
}

TEST_CASE("guesses of a head with a vocabulary of its own are the model's tokens") {
  const test::TempFolder folder;
  ModelOptions loading;
  loading.draft_file = (folder / "head.gguf").string();
  test::write_head({.ids = {9, 3, 44, 20, 11, 7}}, loading.draft_file);
  const auto model = test::tiny_model({}, loading);
  Session session(model, {.context = 100, .draft_layer = true});
  const Speculation speculation(session, {.kinds = {DraftKind::eagle3}, .adaptive = false});
  const Ids prompt{3, 1, 4, 1, 5, 9, 2, 6};
  for (std::size_t n = 2; n <= prompt.size(); ++n) {
    session.feed(0, std::span(prompt).subspan(n - 2, 1));
    const auto logits = session.draft(0, prompt[n - 1], false);
    REQUIRE(logits.size() == 6);
    const auto best = std::ranges::max_element(logits) - logits.begin();
    Ids guesses;
    const auto draft = speculation.draft();
    for (int i = 0; i < 5 && guesses.empty(); ++i)  // the first steps are to have none
      draft->propose({.tokens = std::span(prompt).first(n), .max = 1}, guesses);
    CHECK(guesses == Ids{model->draft_ids()[static_cast<std::size_t>(best)]});
  }
}

TEST_CASE("draft models that cannot help") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 64});
  std::string warned;
  SpeculationOptions options{.kinds = {DraftKind::model},
                             .warn = [&](const std::string& line) { warned += line; }};
  CHECK(test::text_of([&] { Speculation(session, options); }).find("need a draft model") !=
        std::string::npos);
  options.draft_model = test::stories();
  CHECK(test::text_of([&] { Speculation(session, options); }).find("same vocabulary") !=
        std::string::npos);
  options.draft_model = test::tiny_model({.sizes = {.L = 9}});  // larger
  CHECK(Speculation(session, options).draft() == nullptr);
  CHECK(warned.find("no drafts by this model: it has") != std::string::npos);
  warned.clear();
  options.draft_model = model;
  options.draft_session.mem_budget = session.memory().total() + 1000;
  CHECK(Speculation(session, options).draft() == nullptr);
  CHECK(warned.find("no drafts by this model") != std::string::npos);
  options.kinds.push_back(DraftKind::ngram_simple);
  CHECK(Speculation(session, options).draft() != nullptr);
  CHECK_THROWS_AS(Speculation(session, {.ngram_size = 0}), ValueError);
}

TEST_CASE("kinds by name") {
  for (const DraftKind kind : draft_kinds()) CHECK(draft_kind(to_string(kind)) == kind);
  CHECK_THROWS_WITH_AS(draft_kind("magic"), doctest::Contains("ngram-simple"), ValueError);
}

}  // namespace weft

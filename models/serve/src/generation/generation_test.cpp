#include "weft/serve/generation.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "weft/base/error.h"
#include "weft/serve/prompt_cache.h"

#include "generation/generation_test_support.h"
#include "support/allocations.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::bytewise;
using test::script;
using test::stories;
using test::tiny_model;
using test::write;
using test::Written;
using Ids = std::vector<TokenId>;

const Ids kPrompt{3, 1, 4, 1, 5, 9, 2, 6};

struct Stories {
  std::shared_ptr<const Model> model = stories();
  Session session{model, {.context = 128, .sequences = 2}};
  const Tokenizer& tokenizer = model->tokenizer();
  TokenId end = model->vocabulary().special().eos;

  Written say(std::string_view text, GenerationOptions options) {
    options.choose = script(bytewise(tokenizer, text), end);
    Generation generation(session, 0, options);
    generation.begin("Once");
    return write(generation);
  }
};

TEST_CASE("stop strings across tokens") {
  Stories s;
  const GenerationOptions options{.rules = {.stops = {"END.", "\xC3\xA9"}}};
  const Written plain = s.say("The ENd", options);
  CHECK(plain.text == "The ENd");
  CHECK(plain.stop == StopReason::end_of_text);
  CHECK(plain.pieces == std::vector<std::string>{"T", "h", "e", " ", "", "", "ENd", ""});
  const Written stopped = s.say("The END. More", options);
  CHECK(stopped.text == "The ");
  CHECK(stopped.stop == StopReason::stop_string);
  CHECK(stopped.tokens.size() == 8);
  CHECK(s.say("The EN", options).text == "The EN");
  CHECK(s.say("caf\xC3\xA9s", options).text == "caf");
}

TEST_CASE("text comes in whole characters") {
  Stories s;
  const Written written = s.say("a\xE2\x82\xAC\xE2\x82", {});
  CHECK(written.pieces ==
        std::vector<std::string>{"a", "", "", "\xE2\x82\xAC", "", "", "\xE2\x82"});
}

TEST_CASE("the reasons why a text ends") {
  Stories s;
  CHECK(s.say("abcdef", {.max_tokens = 3}).text == "abc");
  CHECK(s.say("abcdef", {.max_tokens = 3}).stop == StopReason::max_tokens);
  CHECK(s.say("abcdef", {.max_tokens = 0}).pieces == std::vector<std::string>{""});
  const Written complete = s.say("ab", {.rules = {.grammar = Grammar::from_regex("ab")}});
  CHECK(complete.stop == StopReason::complete);
  CHECK(complete.text == "ab");

  const std::string much(200, 'x');
  CHECK(s.say(much, {}).stop == StopReason::context_full);
  const auto n_prompt = static_cast<std::int64_t>(encode_prompt(*s.model, "Once").size());
  CHECK(std::ssize(s.say(much, {}).tokens) == 128 - n_prompt + 1);  // the last one is not fed
  CHECK(std::ssize(s.say(much, {.feed_last = true}).tokens) == 128 - n_prompt);

  const Written end = write(s.session, {.choose = script({}, s.end)}, {{5}});
  CHECK(end.stop == StopReason::end_of_text);
  CHECK(end.tokens.empty());
  Generation endless(s.session, 0,
                     {.choose =
                          [&](std::span<const float> logits, std::span<const TokenId>) {
                            CHECK(logits[static_cast<std::size_t>(s.end)] < -1e30F);
                            return TokenId{7};
                          },
                      .max_tokens = 2,
                      .ignore_eos = true});
  endless.begin("Once");
  CHECK(write(endless).stop == StopReason::max_tokens);
}

TEST_CASE("a text without time ends at its first line break") {
  Stories s;
  using std::chrono::milliseconds;
  const Written ended = s.say("One\nTwo", {.max_time = milliseconds(0)});
  CHECK(ended.text == "One\n");
  CHECK(ended.stop == StopReason::max_time);
  CHECK(s.say("One, Two", {.max_time = milliseconds(0)}).stop == StopReason::end_of_text);
  CHECK(s.say("One\nTwo", {.max_time = milliseconds(1 << 30)}).text == "One\nTwo");
}

TEST_CASE("misuse is rejected") {
  Stories s;
  CHECK_THROWS_AS(Generation(s.session, 2), ValueError);
  Generation generation(s.session, 0);
  CHECK_THROWS_AS(generation.next(), ValueError);
  CHECK_THROWS_AS(generation.begin(Ids{}), ValueError);
  CHECK_THROWS_AS(generation.begin(Ids(129, 5)), ValueError);
  CHECK_THROWS_AS(generation.fork(0, 1), ValueError);
  generation.begin(Ids(128, 5));
  CHECK(generation.next().stop == StopReason::context_full);
  CHECK(generation.next().stop == StopReason::context_full);  // again and again
}

TEST_CASE("a healed prompt continues within its last word, also under a grammar") {
  Stories s;
  const std::string prompt = "Once upon a ti";
  GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 12, .token_healing = true};
  Generation plain(s.session, 0, options);
  plain.begin(prompt);
  CHECK(plain.n_prompt() < std::ssize(encode_prompt(*s.model, prompt)));
  CHECK(write(plain).text.starts_with("me"));
  options.rules.grammar = Grammar::from_regex("(ny|me), (cat|dog)s\\.");
  Generation ruled(s.session, 0, options);
  for (int i = 0; i < 2; ++i) {
    ruled.begin(prompt);
    const Written written = write(ruled);
    CHECK(written.stop == StopReason::complete);
    CHECK(options.rules.grammar->accepts(written.text));
  }
}

TEST_CASE("the prefix of a healed prompt is gone with that prompt") {
  Stories s;
  const auto grammar = Grammar::from_regex("(ny|me), (cat|dog)s\\.");
  const GenerationOptions options{.sampler = {.temperature = 0},
                                  .rules = {.grammar = grammar},
                                  .max_tokens = 12,
                                  .token_healing = true};
  Generation generation(s.session, 0, options);
  generation.begin("Once upon a ti");
  write(generation);
  const Ids unhealed{s.model->vocabulary().special().bos};  // a control token is not healed
  generation.begin(unhealed);
  const Written again = write(generation);
  CHECK(again.stop == StopReason::complete);
  CHECK(grammar->accepts(again.text));
}

TEST_CASE("a generation can be restarted after cancel(), and a failed choice repeated") {
  Stories s;
  bool fails = false;
  const auto choose = [&](std::span<const float> logits, std::span<const TokenId>) {
    if (std::exchange(fails, false)) throw ValueError("no choice");
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  };
  Generation generation(s.session, 0, {.choose = choose, .max_tokens = 4});
  generation.begin("Once upon");
  const Written plain = write(generation);
  generation.begin("Once upon");
  generation.cancel();
  CHECK(generation.next().stop == StopReason::cancelled);
  generation.begin("Once upon");
  generation.next();
  fails = true;
  CHECK_THROWS_AS(generation.next(), ValueError);
  while (!generation.ended()) generation.next();
  const auto written = generation.tokens().subspan(static_cast<std::size_t>(generation.n_prompt()));
  CHECK(Ids(written.begin(), written.end()) == plain.tokens);
}

TEST_CASE("forced tokens come one by one and are computed in one step") {
  Stories s;
  const auto grammar = Grammar::from_regex("( a| the) little girl and the bear\\.");
  const Written ruled =
      write(s.session, {.sampler = {.temperature = 0}, .rules = {.grammar = grammar}},
            encode_prompt(*s.model, "Once upon a time there was"));
  CHECK(grammar->accepts(ruled.text));
  // With logprobs every token has logits of its own: no other text.
  Generation stepwise(
      s.session, 0, {.sampler = {.temperature = 0}, .rules = {.grammar = grammar}, .logprobs = 0});
  stepwise.begin("Once upon a time there was");
  CHECK(write(stepwise).text == ruled.text);
}

TEST_CASE("logprobs are those of the model, whatever the rules are") {
  Stories s;
  Generation generation(s.session, 0,
                        {.rules = {.grammar = Grammar::from_regex("qq")}, .logprobs = 3});
  generation.begin("Once upon a");
  const GenerationEvent event = generation.next();
  REQUIRE(event.logprobs);
  CHECK(event.logprobs->chosen.token == event.token);
  CHECK(event.logprobs->top.size() == 3);
  CHECK(event.logprobs->chosen.logprob < event.logprobs->top.back().logprob);
}

TEST_CASE("tokens in the sequence are reused") {
  const auto model = tiny_model();
  Session session(model, {.context = 100});
  const GenerationOptions options{.sampler = {.seed = 5}, .max_tokens = 9};
  Generation generation(session, 0, options);
  generation.begin(kPrompt);
  const Written first = write(generation);
  CHECK(generation.n_reused() == 0);
  Ids longer(generation.tokens().begin(), generation.tokens().end());
  longer.insert(longer.end(), {7, 7});
  generation.begin(longer);
  CHECK(generation.n_reused() == std::ssize(longer) - 3);  // the last token was not fed
  const Written second = write(generation);
  generation.begin(kPrompt);
  CHECK(generation.n_reused() == std::ssize(kPrompt) - 1);
  CHECK(write(generation).tokens == first.tokens);
  Session fresh(model, {.context = 100});
  CHECK(write(fresh, options, longer).tokens == second.tokens);
}

TEST_CASE("with a model that forgets, what it still remembers is reused") {
  const auto model = test::mixed_model();
  const test::TempFolder folder;
  const std::string path = folder / "s";
  Ids prompt;
  for (std::int32_t i = 0; i < 100; ++i) prompt.push_back(i * 7 % 50);
  Ids other = prompt;
  other[80] = 3;
  const GenerationOptions options{.sampler = {.temperature = 0}, .max_tokens = 10};
  Session session(model, {.context = 200}), fresh(model, {.context = 200});
  const Ids expected = write(fresh, options, other).tokens;
  Generation generation(session, 0, options);
  generation.begin(prompt);
  write(generation);
  generation.save(path);
  generation.begin(other);  // 80 tokens are the same, and there is a checkpoint behind 64
  CHECK(generation.n_reused() == 64);
  CHECK(write(generation).tokens == expected);
  PromptCache cache(path, true);
  std::string warning;
  CHECK(cache.restore(generation, other, warning) == 64);  // the file has it, too
}

TEST_CASE("a fork equals a text started with the same tokens") {
  const auto model = tiny_model();
  Session session(model, {.context = 150, .sequences = 3});
  Generation first(session, 0, {.sampler = {.seed = 5, .repeat_penalty = 1.3F}, .max_tokens = 90});
  first.begin(kPrompt);
  for (const int n : {0, 1, 60}) {
    CAPTURE(n);
    if (n == 0) REQUIRE(first.prefill());
    while (first.n_new() < n) first.next();
    Generation fork = first.fork(1, 11);
    const Ids so_far(fork.tokens().begin(), fork.tokens().end());
    Ids other;  // the original goes on in between
    while (other.size() < 20) {
      other.push_back(fork.next().token);
      first.next();
    }
    Session fresh(model, {.context = 150});
    const Written alone =
        write(fresh, {.sampler = {.seed = 11, .repeat_penalty = 1.3F}, .max_tokens = 20}, so_far);
    CHECK(alone.tokens == other);
  }
}

TEST_CASE("a fork without a seed writes what its original writes") {
  const auto model = tiny_model();
  Session session(model, {.context = 150, .sequences = 2});
  std::vector<SamplerOptions> samplers(4, {.seed = 5, .temperature = 2});
  samplers[1].mirostat = 1;
  samplers[2].mirostat = 2;
  samplers[3].adaptive_target = 0.1F;
  for (const SamplerOptions& sampler : samplers) {
    for (const int n : {0, 40}) {
      CAPTURE(&sampler - samplers.data());
      CAPTURE(n);
      Generation first(session, 0, {.sampler = sampler, .max_tokens = 90});
      first.begin(kPrompt);
      for (int i = 0; i < n; ++i) first.next();
      Generation other = first.fork(1, 6);
      const Ids drawn_otherwise = write(other).tokens;
      Generation fork = first.fork(1);
      const Ids expected = write(first).tokens;
      CHECK(expected.size() == static_cast<std::size_t>(90 - n));
      CHECK(write(fork).tokens == expected);
      CHECK(drawn_otherwise != expected);
      // Its next text begins at the same seed, too.
      first.begin(kPrompt);
      fork.begin(kPrompt);
      CHECK(write(fork).tokens == write(first).tokens);
    }
  }
}

TEST_CASE("forks keep the state of grammar, stop strings and incomplete characters") {
  Stories s;
  const auto grammar = Grammar::from_regex("(ab|ac){8}\\.");
  Generation first(s.session, 0,
                   {.sampler = {.seed = 2, .top_k = 0, .top_p = 1, .min_p = 0, .temperature = 9},
                    .rules = {.grammar = grammar}});
  first.begin("Once");
  Written head;
  for (int i = 0; i < 3; ++i) add(first.next(), head);
  Generation fork = first.fork(1, 3);
  Written a = head, b = head;
  while (!first.ended() || !fork.ended()) {
    if (!first.ended()) add(first.next(), a);
    if (!fork.ended()) add(fork.next(), b);
  }
  CHECK(grammar->accepts(a.text));
  CHECK(grammar->accepts(b.text));
  CHECK(a.text != b.text);
}

TEST_CASE("saved and restored") {
  const auto model = tiny_model();
  const test::TempFolder folder;
  const std::string path = (folder / "sequence").string();
  const GenerationOptions options{.sampler = {.seed = 3}, .max_tokens = 30};
  Session session(model, {.context = 100});
  Generation generation(session, 0, options);
  generation.begin(kPrompt);
  for (int i = 0; i < 10; ++i) generation.next();
  generation.save(path, "a note");
  const Ids so_far(generation.tokens().begin(), generation.tokens().end());

  Session other(model, {.context = 100, .sequences = 2});
  Generation restored(other, 1, options);
  const SavedSequence saved = SavedSequence::open(path);
  CHECK(saved.note() == "a note");
  restored.restore(saved, std::ssize(saved.tokens()));
  restored.begin(so_far);
  CHECK(restored.n_reused() == std::ssize(so_far) - 1);
  Session fresh(model, {.context = 100});
  CHECK(write(restored).tokens == write(fresh, options, so_far).tokens);
}

TEST_CASE("cancelled within the prompt, and restarted") {
  const auto model = tiny_model();
  Session session(model, {.context = 100, .prefill_width = 4});
  const GenerationOptions options{.sampler = {.seed = 3}, .max_tokens = 5};
  std::atomic<bool> flag{false};
  GenerationOptions with_flag = options;
  with_flag.cancel = &flag;
  Generation generation(session, 0, with_flag);
  Ids prompt;
  for (int i = 0; i < 22; ++i) prompt.push_back(i);
  generation.begin(prompt);
  CHECK_FALSE(generation.prefill([&](std::int64_t done, std::int64_t) {
    if (done == 8) generation.cancel();
  }));
  CHECK(flag);
  CHECK(generation.held().size() == 8);
  CHECK(generation.next().stop == StopReason::cancelled);
  CHECK(generation.ended());
  flag = false;
  generation.begin(prompt);
  CHECK(generation.n_reused() == 8);
  Session fresh(model, {.context = 100});
  CHECK(write(generation).tokens == write(fresh, options, prompt).tokens);
}

TEST_CASE("generating a token allocates nothing") {
  Stories s;
  Generation generation(
      s.session, 0,
      {.sampler = {.seed = 1}, .rules = {.stops = {"never comes"}}, .ignore_eos = true});
  generation.begin("Once upon a time");
  for (int i = 0; i < 30; ++i) generation.next();
  const std::int64_t before = test::allocations();
  for (int i = 0; i < 30; ++i) generation.next();
  CHECK(test::allocations() == before);
}

TEST_CASE("a grammar that is set counts from the next text on, also of a fork") {
  Session session(test::stories(), {.context = 64, .sequences = 3});
  Generation first(session, 0, {.sampler = {.temperature = 0}, .max_tokens = 4});
  const auto text_of = [](Generation& generation) {
    std::string text;
    generation.begin("Once");
    for (StopReason stop = StopReason::none; stop == StopReason::none;) {
      const GenerationEvent event = generation.next();
      text += event.text;
      stop = event.stop;
    }
    return text;
  };
  const std::string free = text_of(first);
  first.set_grammar(Grammar::from_regex("zz"));
  Generation forked = first.fork(1);
  CHECK(text_of(forked) == "zz");
  CHECK(text_of(first) == "zz");
  first.set_grammar(nullptr);
  CHECK(text_of(first) == free);
}

}  // namespace
}  // namespace weft

#include "weft/serve/diffusion.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "generation/text_model_test_support.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::made_text_model;
using test::text_of;
using test::tiny_model;
using Ids = std::vector<TokenId>;

constexpr TokenId kMaskOf = 7;
const Ids kMaskedPrompt{3, 11, 42, 5};

std::shared_ptr<const Model> diffuser(std::optional<bool> shifts = {}) {
  return made_text_model({.arch = "llada", .keys = [=](GgufWriter& w) {
                            w.add_u32("tokenizer.ggml.mask_token_id", kMaskOf);
                            if (shifts) w.add_bool("diffusion.shift_logits", *shifts);
                          }});
}

DiffusionOptions greedy(std::int64_t n, std::int64_t steps, std::int64_t block = 0) {
  return {.sampler = {.temperature = 0}, .max_tokens = n, .steps = steps, .block_length = block};
}

SessionOptions fitting(const DiffusionOptions& how) {
  return diffusion_session({.context = 256, .prefill_width = 1}, kMaskedPrompt.size(), how);
}

// Tokens filled in by each step, and the text.
struct Run {
  std::vector<std::int64_t> filled;
  Ids tokens;
};

Run run(const std::shared_ptr<const Model>& model, const DiffusionOptions& how) {
  Session session(model, fitting(how));
  Diffusion text(session, 0, how);
  text.begin(kMaskedPrompt);
  Run result;
  for (std::int64_t left = text.n_masked(); text.step(); left = text.n_masked())
    result.filled.push_back(left - text.n_masked());
  CHECK(text.n_masked() == 0);
  CHECK(text.steps_done() == text.n_steps());
  CHECK(text.n_computed() == std::ssize(result.filled));
  result.tokens.assign(text.tokens().begin(), text.tokens().end());
  CHECK(std::ranges::equal(std::span(result.tokens).first(kMaskedPrompt.size()), kMaskedPrompt));
  CHECK(std::ranges::count(result.tokens, kMaskOf) == 0);
  return result;
}

// The logits of all positions of a text, row by row, without those of the mask.
std::vector<std::vector<float>> logits_of(const std::shared_ptr<const Model>& model,
                                          const Ids& ids) {
  const auto n = std::ssize(ids);
  Session session(model, {.context = 256, .prefill_width = n, .logits_rows = n});
  std::vector<StepToken> step;
  for (const TokenId id : ids) step.push_back({.token = id, .logits = true});
  auto rest = session.step(step);
  std::vector<std::vector<float>> rows;
  for (; !rest.empty(); rest = rest.subspan(50)) {
    rows.emplace_back(rest.begin(), rest.begin() + 50);
    rows.back()[kMaskOf] = -INFINITY;
  }
  return rows;
}

Ids masked_text(std::size_t n) {
  Ids ids = kMaskedPrompt;
  ids.resize(kMaskedPrompt.size() + n, kMaskOf);
  return ids;
}

TokenId best(const std::vector<float>& logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

TEST_CASE("one step fills in the most likely token everywhere, from the row that the file says") {
  const auto shifted = logits_of(diffuser(true), masked_text(6));
  for (const bool shifts : {true, false}) {
    const Run filled = run(diffuser(shifts), greedy(6, 1));
    CHECK(filled.filled == std::vector<std::int64_t>{6});
    for (std::size_t i = 4; i < 10; ++i) CHECK(filled.tokens[i] == best(shifted[i - shifts]));
  }
  CHECK(run(diffuser(), greedy(6, 1)).tokens == run(diffuser(true), greedy(6, 1)).tokens);
  DiffusionOptions unshifted = greedy(6, 1);
  unshifted.shift_logits = false;
  CHECK(run(diffuser(true), unshifted).tokens == run(diffuser(false), greedy(6, 1)).tokens);
}

TEST_CASE("guidance moves logits away from those without the prompt") {
  const auto model = diffuser(false);
  const Ids ids = masked_text(6);
  const auto with = logits_of(model, ids), without = logits_of(model, Ids(ids.size(), kMaskOf));
  DiffusionOptions how = greedy(6, 1);
  how.guidance = 20;
  Session session(model, fitting(how));
  Diffusion text(session, 0, how);
  text.begin(kMaskedPrompt);
  REQUIRE(text.step());
  CHECK(text.n_computed() == 2);
  bool differs = false;
  for (std::size_t i = 4; i < 10; ++i) {
    std::vector<float> guided = with[i];
    for (std::size_t t = 0; t < guided.size(); ++t)
      if (t != kMaskOf) guided[t] = without[i][t] + 21 * (with[i][t] - without[i][t]);
    CHECK(text.tokens()[i] == best(guided));
    differs |= best(guided) != best(with[i]);
  }
  CHECK(differs);
}

TEST_CASE("steps follow the schedule") {
  const auto model = diffuser();
  using Counts = std::vector<std::int64_t>;
  CHECK(run(model, greedy(10, 5)).filled == Counts{1, 2, 2, 2, 3});  // floor(n (1 - s / t))
  CHECK(run(model, greedy(4, 9)).filled == Counts{1, 1, 2});  // steps that fill in none are skipped
  CHECK(run(model, greedy(12, 4, 6)).filled == Counts{3, 3, 3, 3});
  CHECK(run(model, greedy(10, 4, 4)).filled == Counts{4, 4, 2});
  CHECK(run(model, greedy(10, 6, 4)).filled == Counts{2, 2, 2, 2, 1, 1});
  CHECK(run(model, greedy(3, 8, 3)).filled == Counts{1, 1, 1});
}

TEST_CASE("blocks are filled in from left to right") {
  const auto model = diffuser();
  const DiffusionOptions how = greedy(12, 6, 4);
  Session session(model, fitting(how));
  CHECK(session.options().logits_rows == 4);
  Diffusion text(session, 0, how);
  text.begin(kMaskedPrompt);
  for (std::int64_t step = 1; text.step(); ++step) {
    const std::size_t block = 4 + 4 * static_cast<std::size_t>((step - 1) / 2);
    for (std::size_t i = 4; i < block; ++i) CHECK_FALSE(text.is_masked(i));
    for (std::size_t i = block + 4; i < 16; ++i) CHECK(text.is_masked(i));
  }
}

TEST_CASE("an algorithm fills in its best position first") {
  const auto model = diffuser(false);
  const auto rows = logits_of(model, masked_text(8));
  const auto score = [](const std::vector<float>& logits, DiffusionAlgorithm algorithm) {
    std::vector<double> p;
    double total = 0, entropy = 0;
    for (const float logit : logits) total += std::exp(double{logit});
    for (const float logit : logits) p.push_back(std::exp(double{logit}) / total);
    for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
    std::ranges::sort(p, std::ranges::greater());
    if (algorithm == DiffusionAlgorithm::entropy) return -entropy;
    return algorithm == DiffusionAlgorithm::margin ? p[0] - p[1] : p[0];
  };
  for (const DiffusionAlgorithm algorithm :
       {DiffusionAlgorithm::confidence, DiffusionAlgorithm::entropy, DiffusionAlgorithm::margin}) {
    CAPTURE(to_string(algorithm));
    std::size_t first = 4;
    for (std::size_t i = 4; i < 12; ++i)
      if (score(rows[i], algorithm) > score(rows[first], algorithm)) first = i;
    DiffusionOptions how = greedy(8, 8, 8);
    how.algorithm = algorithm;
    Session session(model, fitting(how));
    Diffusion text(session, 0, how);
    text.begin(kMaskedPrompt);
    REQUIRE(text.step());
    for (std::size_t i = 4; i < 12; ++i) CHECK(text.is_masked(i) == (i != first));
  }
}

TEST_CASE("the same seed gives the same text, another one a different text") {
  const auto model = diffuser();
  for (const DiffusionAlgorithm algorithm : diffusion_algorithms()) {
    DiffusionOptions how = greedy(24, 12);
    how.sampler = {.seed = 5, .temperature = 1};
    how.algorithm = algorithm;
    how.algorithm_temperature = 0.5;
    const Ids one = run(model, how).tokens;
    CHECK(run(model, how).tokens == one);
    Session session(model, fitting(how));
    Diffusion text(session, 0, how);
    for (const std::uint64_t seed : {6, 5}) {  // also when it begins again
      text.set_seed(seed);
      text.begin(kMaskedPrompt);
      while (text.step()) {
      }
      CHECK(std::ranges::equal(text.tokens(), one) == (seed == 5));
    }
  }
}

TEST_CASE("a cancelled step changes nothing") {
  const auto model = diffuser();
  DiffusionOptions how = greedy(6, 3);
  std::atomic<bool> cancelled = false;
  how.cancel = &cancelled;
  Session session(model, fitting(how));
  Diffusion text(session, 0, how);
  text.begin(kMaskedPrompt);
  REQUIRE(text.step());
  const Ids before(text.tokens().begin(), text.tokens().end());
  cancelled = true;
  CHECK_FALSE(text.step());
  CHECK(std::ranges::equal(text.tokens(), before));
  cancelled = false;
  while (text.step()) {
  }
  CHECK(Ids(text.tokens().begin(), text.tokens().end()) == run(model, greedy(6, 3)).tokens);
}

TEST_CASE("the text ends at the first token that ends it, and shows what is masked") {
  const auto made = [](const std::string& name, std::vector<float>& values) {
    if (name == "output.weight" || name == "token_embd.weight")
      std::fill(values.begin(), values.end(), 0.25F);
  };
  const auto end = [](GgufWriter& w) { w.add_u32("tokenizer.ggml.eos_token_id", test::kSep); };
  const auto model =
      made_text_model({.arch = "llada", .weights = made, .tokenizer = true, .keys = end});
  DiffusionOptions how = greedy(4, 4, 1);
  how.sampler.logit_bias = {{5, 3.0F}};  // all logits are equal: always token 5, "a"
  Session session(model, fitting(how));
  Diffusion text(session, 0, how);
  text.begin(kMaskedPrompt);
  CHECK(text.text("_") == "____");
  REQUIRE(text.step());
  CHECK(text.text("_").ends_with("a___"));
  while (text.step()) {
  }
  CHECK(text.n_text() == 4);

  how.sampler.logit_bias = {{test::kSep, 3.0F}};
  Diffusion ends(session, 0, how);
  ends.begin(kMaskedPrompt);
  CHECK(ends.n_text() == 4);
  REQUIRE(ends.step());  // the first block
  CHECK(ends.n_masked() == 3);
  CHECK(ends.n_text() == 0);
  CHECK(ends.text("_").empty());
}

TEST_CASE("sessions for diffusion are as wide as needed and possible, whatever was asked for") {
  const auto widths = [](std::int64_t width, std::size_t n_prompt, const DiffusionOptions& how) {
    const SessionOptions o = diffusion_session({.prefill_width = width}, n_prompt, how);
    return std::pair(o.prefill_width, o.logits_rows);
  };
  using Widths = std::pair<std::int64_t, std::int64_t>;
  CHECK(widths(1, 4, greedy(6, 6)) == Widths{10, 6});
  CHECK(widths(512, 4, greedy(6, 6, 2)) == Widths{512, 2});
  CHECK(widths(0, 4, greedy(6, 6)) == Widths{10, 6});
  CHECK(widths(1, SIZE_MAX, greedy(6, 6)) == Widths{kMaxPrefillWidth, 6});
  CHECK(widths(kMaxPrefillWidth + 1, 4, greedy(6, 6)).first == kMaxPrefillWidth + 1);
  CHECK_THROWS_AS(widths(1, 4, greedy(INT64_MAX, 6)), ValueError);
  CHECK_THROWS_AS(Session(diffuser(), diffusion_session({.prefill_width = kMaxPrefillWidth + 1}, 4,
                                                        greedy(6, 6))),
                  ValueError);
}

TEST_CASE("options out of range, and models other than diffusion models, are refused") {
  const auto model = diffuser();
  Session session(model, {.context = 64, .prefill_width = 16, .logits_rows = 8});
  const auto refused = [&](const DiffusionOptions& how) {
    const std::string early = text_of([&] { check_diffusion(*model, how); });
    CHECK(text_of([&] { Diffusion(session, 0, how); }) == early);
    return early;
  };
  CHECK(refused(greedy(0, 1)) == "a diffusion model writes 1..8192 tokens, got 0");
  CHECK(refused(greedy(10, 0)) == "the steps for a text must be 1..1048576, got 0");
  CHECK(refused(greedy(10, 2, 4)) == "the steps for 3 blocks must be 3..1048576, got 2");
  CHECK(refused(greedy(10, 2, -4)) == "a block has 1..8192 tokens, or 0 for none, got -4");
  CHECK(refused(greedy(10, 2, INT64_MAX)).find("a block has 1..8192 tokens") == 0);
  CHECK(refused(greedy(10, INT64_MAX)).find("the steps for a text must be 1..1048576") == 0);
  for (const double eps : {-0.1, 1.0, std::nan("")}) {
    DiffusionOptions how = greedy(4, 4);
    how.eps = eps;
    CHECK(refused(how).find("eps must be at least 0 and below 1") == 0);
  }
  DiffusionOptions hot = greedy(4, 4);
  hot.algorithm_temperature = INFINITY;
  CHECK(refused(hot).find("the temperature of the algorithm must not be negative") == 0);
  for (const double guidance : {-0.1, double{INFINITY}, std::nan("")}) {
    DiffusionOptions how = greedy(4, 4);
    how.guidance = guidance;
    CHECK(refused(how).find("the scale of guidance must be finite and not negative") == 0);
  }
  hot = greedy(4, 4);
  hot.mask_token = 50;
  CHECK(refused(hot) == "the mask token 50 is outside the vocabulary of 50");
  CHECK(text_of([&] { Diffusion(session, 1, greedy(4, 4)); }) != "no error");

  Session rows(model, {.context = 64, .prefill_width = 16, .embeddings = true});
  CHECK(text_of([&] { Diffusion(rows, 0, greedy(4, 4)); }) ==
        "the session returns embeddings: a diffusion model needs logits");

  Diffusion text(session, 0, greedy(10, 10));
  CHECK(text_of([&] { text.step(); }) == "the text has no prompt: call begin() first");
  CHECK(text_of([&] { text.begin({}); }) == "a prompt needs at least one token");
  CHECK(text_of([&] { text.begin(Ids(7, 1)); }).find("17 in all, at most 16 fit") !=
        std::string::npos);
  CHECK(text_of([&] { text.begin(Ids(6, 1)); }) ==
        "a step needs 10 rows of logits, the session returns at most 8");

  const auto no_mask = tiny_model({.arch = "llada"}), causal = tiny_model();
  Session other(no_mask, {}), plain(causal, {});
  CHECK(text_of([&] { Diffusion(other, 0); }).find("has no mask token") != std::string::npos);
  CHECK(text_of([&] { Diffusion(plain, 0); }).find("not a diffusion model") != std::string::npos);
  CHECK_FALSE(is_diffusion_model(*tiny_model({.arch = "bert"})));  // it writes no texts
  CHECK(is_diffusion_model(*no_mask));
  const auto sees_less = made_text_model(
      {.arch = "llada", .keys = [](GgufWriter& w) { w.add_bool("llada.attention.causal", true); }});
  CHECK_FALSE(is_diffusion_model(*sees_less));
}

}  // namespace
}  // namespace weft

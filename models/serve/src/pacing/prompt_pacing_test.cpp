#include "pacing/prompt_pacing.h"

#include <doctest/doctest.h>

namespace weft::serve {
namespace {

// A machine on which a step takes a fixed time and a time per token.
struct Machine {
  double fixed, per_token;
  double seconds(std::int64_t n) const { return fixed + per_token * static_cast<double>(n); }
};

struct Run {
  double seconds = 0;         // sum of all steps
  double longest = 0;         // longest step
  std::int64_t n_prompt = 0;  // tokens
};

Run steps(const Machine& machine, std::int64_t n_texts, int n_steps, double wrong_by = 1,
          std::int64_t max = 0) {
  std::vector<PromptPacing::Width> widths;
  for (const std::int64_t w : {1, 8, 32, 128, 512})
    widths.push_back({w, machine.seconds(w) * wrong_by});
  PromptPacing pacing(widths, max);
  Run run;
  for (int i = 0; i < n_steps; ++i) {
    const std::int64_t n = pacing.prompt_tokens(n_texts, 100000);
    const double seconds = machine.seconds(n_texts + n);
    pacing.measured(n_texts, n, seconds);
    run.seconds += seconds;
    run.longest = std::max(run.longest, seconds);
    run.n_prompt += n;
  }
  return run;
}

TEST_CASE("texts keep about half of their speed beside prompts") {
  for (const double wrong_by : {1.0, 0.01, 30.0}) {
    for (const Machine& m : {Machine{0.1, 0.007}, Machine{0.0002, 0.00005}, Machine{0.01, 0.01}}) {
      for (const std::int64_t n_texts : {1, 3, 8}) {
        CAPTURE(wrong_by);
        CAPTURE(m.fixed);
        CAPTURE(n_texts);
        constexpr int kSteps = 3000;
        const Run run = steps(m, n_texts, kSteps, wrong_by);
        const double alone = kSteps * m.seconds(n_texts);
        CHECK(run.seconds < 2.2 * alone);
        // And prompts get most of the other half.
        CHECK(run.seconds > 1.4 * alone);
        CHECK(run.n_prompt > 0);
        CHECK(run.longest < 2.5 * std::max(m.seconds(n_texts), 0.1));
      }
    }
  }
}

TEST_CASE("without texts that wait, steps are wide but not long") {
  const Machine fast{0.001, 0.0001}, slow{0.1, 0.02};
  CHECK(steps(fast, 0, 10).n_prompt == 10 * 512);
  const Run run = steps(slow, 0, 10);
  CHECK(run.longest < 1.5);
  CHECK(run.n_prompt >= 10 * 20);
}

TEST_CASE("a limit beside texts") {
  const Run run = steps({0.1, 0.0001}, 2, 10, 1, 5);
  CHECK(run.n_prompt <= 50);
  CHECK(run.n_prompt >= 45);
}

TEST_CASE("tokens are divided among prompts") {
  using Shares = std::vector<std::int64_t>;
  const auto divided = [](std::int64_t n, const Shares& pending) {
    return divide_among_prompts(n, pending);
  };
  CHECK(divided(100, {1000}) == Shares{100});
  CHECK(divided(100, {30}) == Shares{30});
  CHECK(divided(100, {1000, 10, 500}) == Shares{50, 10, 40});
  CHECK(divided(100, {1000, 500, 10}) == Shares{50, 40, 10});
  CHECK(divided(1, {1000, 10}) == Shares{1, 0});
  CHECK(divided(0, {1000, 10}) == Shares{0, 0});
  CHECK(divided(100, {20, 10}) == Shares{20, 10});
  CHECK(divided(7, {}).empty());
}

}  // namespace
}  // namespace weft::serve

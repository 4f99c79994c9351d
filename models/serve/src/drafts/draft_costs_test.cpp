#include "drafts/draft_costs.h"

#include <functional>
#include <random>

#include <doctest/doctest.h>

namespace weft::serve {
namespace {

// A text whose steps and guesses take known times, in units of a step of one token.
struct Made {
  std::function<double(double width)> step;
  double guess;       // seconds per guess
  double acceptance;  // how often a guess is right whose predecessors were
};

struct Times {
  double plain = 0, with = 0;
  std::int64_t n_drafted = 0;
};

// `fixed`: always so many guesses; 0: as the costs advise.
Times write(const Made& made, std::int64_t n_tokens, std::size_t fixed = 0) {
  DraftCosts costs({made.guess});
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> noise(1, 0.03);
  Times times;
  times.plain = static_cast<double>(n_tokens) * made.step(1);
  for (std::int64_t written = 0; written < n_tokens; ++written) {
    const std::size_t n = fixed > 0 ? fixed : costs.best_length(0, {}, 16);
    const double proposal = static_cast<double>(n) * made.guess * noise(random);
    const double step = made.step(1 + static_cast<double>(n)) * noise(random);
    std::size_t n_right = 0;
    while (n_right < n && uniform(random) < made.acceptance) ++n_right;
    if (n > 0) costs.proposed(0, n, proposal, 0);
    costs.stepped(1 + static_cast<std::int64_t>(n), step);
    if (n > 0) costs.settled(0, {}, n, n_right);
    times.with += proposal + step;
    times.n_drafted += static_cast<std::int64_t>(n);
    written += static_cast<std::int64_t>(n_right);
  }
  return times;
}

double flat(double width) {
  return 1 + 0.05 * (width - 1);
}
double steep(double width) {
  return 1 + 0.5 * (width - 1);
}
double straight(double width) {
  return width;
}

}  // namespace

TEST_CASE("guesses never cost more than 3 %") {
  for (const auto& step : {flat, steep, straight}) {
    for (const double guess : {0.0, 0.05, 0.3, 0.6, 1.0}) {
      for (const double acceptance : {0.0, 0.2, 0.5, 0.7, 0.9, 1.0}) {
        CAPTURE(step(2));
        CAPTURE(guess);
        CAPTURE(acceptance);
        for (const std::int64_t n : {200, 2000}) {
          const Times times = write({step, guess, acceptance}, n);
          CHECK(times.with <= 1.03 * times.plain);
        }
      }
    }
  }
}

TEST_CASE("guesses that pay are used nearly as well as by who knows the costs") {
  for (const auto& step : {flat, steep}) {
    for (const double guess : {0.0, 0.1, 0.3}) {
      for (const double acceptance : {0.5, 0.7, 0.9}) {
        const Made made{step, guess, acceptance};
        double best = write(made, 4000).plain;
        for (std::size_t n = 1; n <= 16; ++n) best = std::min(best, write(made, 4000, n).with);
        CAPTURE(step(2));
        CAPTURE(guess);
        CAPTURE(acceptance);
        CHECK(write(made, 4000).with <= 1.08 * best);
      }
    }
  }
}

TEST_CASE("a kind that loses is tried again, and used once it pays") {
  DraftCosts costs({0.1});
  const auto step = [&](std::size_t n, std::size_t n_right) {
    if (n > 0) costs.proposed(0, n, 0.1 * static_cast<double>(n), 0);
    costs.stepped(1 + static_cast<std::int64_t>(n), flat(1 + static_cast<double>(n)));
    if (n > 0) costs.settled(0, {}, n, n_right);
  };
  for (int i = 0; i < 100; ++i) step(costs.best_length(0, {}, 8), 0);
  std::int64_t n_used = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::size_t n = costs.best_length(0, {}, 8);
    n_used += n > 0;
    step(n, n);
  }
  CHECK(n_used > 2000);
}

TEST_CASE("wide batches need no guesses") {
  // Beyond 16 tokens, each costs the same: many texts already use what a step can do.
  const auto seconds = [](std::int64_t width) {
    return std::max(1.0, static_cast<double>(width) / 16);
  };
  DraftCosts costs({0});
  double spent = 0, plain = 0;
  std::int64_t n_used = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t n = costs.best_length(0, {.n_texts = 16}, 8);
    const std::size_t n_right = i % 2 ? n : 0;
    const std::int64_t width = 16 + static_cast<std::int64_t>(n);
    costs.stepped(width, seconds(width));
    if (n > 0) costs.settled(0, {.n_texts = 16}, n, n_right);
    spent += seconds(width);
    plain += seconds(16) * (16 + static_cast<double>(n_right)) / 16;
    n_used += n > 0;
  }
  CHECK(spent <= 1.015 * plain);
  CHECK(n_used < 1000);
  for (int i = 0; i < 9; ++i) costs.stepped(1, seconds(1));
  CHECK(costs.best_length(0, {}, 8) > 0);
}

TEST_CASE("steps that also read prompts do not stop guesses") {
  DraftCosts costs({0});
  for (int i = 0; i < 6; ++i) costs.stepped(1, flat(1));
  for (int i = 0; i < 200; ++i) {
    const std::size_t n = costs.best_length(0, {}, 8);
    if (i > 20) REQUIRE(n > 0);
    if (n > 0) costs.proposed(0, n, 0, 0);
    costs.stepped(0, 9);
    if (n > 0) costs.settled(0, {}, n, n);
  }
}

TEST_CASE("guesses of a step that failed are forgotten") {
  DraftCosts costs({0}), other({0});
  for (DraftCosts* one : {&costs, &other}) {
    for (int i = 0; i < 10; ++i) one->stepped(1, 1);
    for (int i = 0; i < 10; ++i) one->stepped(9, 3);
    for (int i = 0; i < 20; ++i) {
      one->proposed(0, 8, 0, 0);
      one->settled(0, {}, 8, 6);
    }
  }
  for (int i = 0; i < 5; ++i) {  // no step follows
    const std::size_t n = costs.best_length(0, {}, 8);
    REQUIRE(n > 0);
    costs.proposed(0, n, 0, 0);
  }
  CHECK(costs.best_length(0, {}, 8) == other.best_length(0, {}, 8));
  costs.proposed(0, 8, 0, 0);
  other.proposed(0, 8, 0, 0);
  const DraftCosts::Shape second{.n_texts = 2, .n_guesses = 8};
  CHECK(costs.best_length(0, second, 8) == other.best_length(0, second, 8));
}

TEST_CASE("only measured times are times") {
  DraftCosts costs({0.5});
  for (std::int64_t width = 1; width <= 8; ++width) costs.stepped(width, 1e-3);  // warm up
  CHECK(costs.best_length(0, {}, 8) == 0);
  CHECK(!costs.measured_seconds(1));
  costs.stepped(5, 4e-3);
  CHECK(!costs.measured_seconds(1));
  CHECK(costs.measured_seconds(5) == 4e-3);
  CHECK(!costs.measured_seconds(0));
  CHECK(!costs.measured_seconds(DraftCosts::kMaxWidth + 1));
}

TEST_CASE("steps that measure are few") {
  DraftCosts costs({0}), blind({0});
  int n_plain = 0, n_blind = 0;
  for (int i = 0; i < 20; ++i) {
    const bool is_plain = costs.wants_plain_step(1);
    n_plain += is_plain;
    costs.stepped(is_plain ? 1 : 9, 1);
    n_blind += blind.wants_plain_step(1);
    blind.stepped(0, 1);  // each reads a prompt, too
  }
  CHECK(n_plain == 4);
  CHECK(n_blind == 4);
  CHECK(costs.measured_seconds(1) == 1);
  CHECK(!blind.measured_seconds(1));
}

TEST_CASE("times of widths that were not measured") {
  DraftCosts costs({0.5});
  CHECK(costs.step_seconds(2) == 0);
  CHECK(costs.guess_seconds(0) == 0);
  costs.stepped(1, 9);  // the first one pays for what is done once
  costs.stepped(1, 2);
  CHECK(costs.step_seconds(1) == 2);
  CHECK(costs.step_seconds(3) > 2);
  CHECK(costs.guess_seconds(0) == doctest::Approx(1));
  for (int i = 0; i < 2; ++i) costs.stepped(5, 4);
  CHECK(costs.step_seconds(5) == 4);
  CHECK(costs.step_seconds(3) > 2);
  CHECK(costs.step_seconds(3) < 4);
  for (int i = 0; i < 5; ++i) costs.stepped(5, 4);
  costs.stepped(5, 1000);  // somebody else had the processor
  CHECK(costs.step_seconds(5) == 4);
  costs.stepped(0, 1);
  costs.stepped(1000, 1);
}

}  // namespace weft::serve
